/* power - the power button. */
#pragma once

#include "provider/libvirt/machine.h"

/* Ask the guest to switch itself off. */
int power_press(const struct found *m, struct err *err) MUST_CHECK;

/* The same once more, when it was asked a while ago and runs: a guest that was
 * booting then has not heard it. */
void power_press_again(const struct found *m, const struct domain_facts *f);
