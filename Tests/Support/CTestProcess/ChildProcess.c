/* Starts a child process that inherits no descriptors but its first three. */
#define _GNU_SOURCE
#include "CTestProcess.h"

#include <spawn.h>

static int prepare(posix_spawn_file_actions_t *actions, const char *directory, const int32_t files[3]) {
    int error = directory ? posix_spawn_file_actions_addchdir_np(actions, directory) : 0;
    for (int target = 0; target < 3 && !error; target++)
        error = posix_spawn_file_actions_adddup2(actions, files[target], target);
    return error ? error : posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

int32_t cchildprocess_start(const char *path, char *const words[], char *const variables[], const char *directory,
                            int32_t input, int32_t output, int32_t errors) {
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return -error;
    error = prepare(&actions, directory, (int32_t[]){input, output, errors});
    if (!error) error = posix_spawn(&child, path, &actions, 0, words, variables);
    posix_spawn_file_actions_destroy(&actions);
    return error ? -error : child;
}
