/* Calls StratusKit when it is loaded. */
#include "CLoadHook.h"

__attribute__((constructor)) static void stratus_on_load(void) { stratus_register_class_names(); }

void stratus_keep_load_hook(void) {}
