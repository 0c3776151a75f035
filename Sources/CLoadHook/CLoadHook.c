/* Calls StratusKit when it is loaded. */
#include "CLoadHook.h"

/* Weak, so that this file links where StratusKit is not. */
#pragma weak stratus_register_class_names

__attribute__((constructor)) static void stratus_on_load(void) {
    if (stratus_register_class_names) {
        stratus_register_class_names();
    }
}
