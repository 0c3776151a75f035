/* The counters of the compiler's instrumentation. Weak, because most builds have none. */
#include "CCounters.h"

#pragma weak __llvm_profile_reset_counters
#pragma weak __llvm_profile_set_filename
#pragma weak __llvm_profile_write_file

extern void __llvm_profile_reset_counters(void);
extern void __llvm_profile_set_filename(const char *path);
extern int __llvm_profile_write_file(void);

int32_t ccounters_reset(void) {
    if (!__llvm_profile_reset_counters) return 0;
    __llvm_profile_reset_counters();
    return 1;
}

int32_t ccounters_write(void) {
    if (!__llvm_profile_set_filename || !__llvm_profile_write_file) return 0;
    int result = __llvm_profile_write_file();
    __llvm_profile_set_filename("/dev/null");
    return result == 0;
}
