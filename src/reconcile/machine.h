/* machine - the controller of instances and the machines behind them. */
#pragma once

#include "reconcile/controller.h"

extern const struct controller machine_controller;
