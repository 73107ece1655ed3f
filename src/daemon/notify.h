/* notify - tell systemd how we are, when it asked to be told. */
#pragma once

/* STATE is "READY=1", "STOPPING=1", …; nothing happens outside systemd. */
void notify(const char *state);
