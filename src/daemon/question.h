/*
 * question - what the API asks of providers, handed to the engine.
 *
 * The API and the engine know nothing of each other: this is the seam, for the
 * daemon and for whoever runs both without one.
 */
#pragma once

struct engine;
struct live_question;

/* The question is answered through its done(), once, maybe before this
 * returns; never when the engine is freed first. */
void question_ask(struct engine *e, struct live_question *q);
