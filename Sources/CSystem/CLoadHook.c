/* Calls StratusKit when it is loaded. */
#include "CLoadHook.h"

/* Weak, because programs may link this library without StratusKit. */
#pragma weak stratus_register_class_names

__attribute__((constructor)) static void stratus_on_load(void) {
    if (stratus_register_class_names) stratus_register_class_names();
}

void stratus_keep_load_hook(void) {}
