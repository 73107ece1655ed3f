#include "http/client.h"
