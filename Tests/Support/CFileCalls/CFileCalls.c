/* Counts the calls by which a process changes files, and ends the process, or fails one call, at the number that it is
 * told. Loaded before all other libraries, so that Foundation, LevelDB and all else call what is defined here.
 *
 *   FILECALLS_LOG=path        a line is added for each call: its name and what it is called on
 *   FILECALLS_KILL=number     the process is killed (SIGKILL) in the place of this call, counted from 1
 *   FILECALLS_FAIL=number     this call fails, and nothing else, with the error FILECALLS_ERRNO (5 where that is missing)
 *   FILECALLS_STOP=number     the process stops (SIGSTOP) before this call, until it gets SIGCONT
 *   FILECALLS_UNDER=prefix    only calls on paths that begin with this count: without, all do
 *
 * A call on a descriptor counts where it is open on a regular file or a directory. What the process writes to its standard
 * output and error does not count. Paths that do not begin with a slash are in the current directory. */
#define _GNU_SOURCE
#include "CFileCalls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static _Atomic long call_count;
static long kill_number, fail_number, stop_number;
static int fail_error = 5;
static int log_descriptor = -1;
static char counted_prefix[PATH_MAX];

static long number_of(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
    kill_number = number_of("FILECALLS_KILL");
    fail_number = number_of("FILECALLS_FAIL");
    stop_number = number_of("FILECALLS_STOP");
    if (number_of("FILECALLS_ERRNO") > 0) fail_error = (int)number_of("FILECALLS_ERRNO");
    const char *prefix = getenv("FILECALLS_UNDER");
    if (prefix) snprintf(counted_prefix, sizeof counted_prefix, "%s", prefix);
    const char *log = getenv("FILECALLS_LOG");
    if (log) log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    /* What this process starts is its own affair. */
    unsetenv("LD_PRELOAD");
}

/* Whether the call is to fail. Does not return where the process is to be killed in its place. */
static int is_to_fail(const char *name, const char *path) {
    size_t length = strlen(counted_prefix);
    if (length > 0 && strncmp(path, counted_prefix, length) != 0) return 0;
    long number = atomic_fetch_add(&call_count, 1) + 1;
    if (log_descriptor >= 0) {
        char line[PATH_MAX + 64];
        int count = snprintf(line, sizeof line, "%s %s\n", name, path);
        if (count > 0) (void)syscall(SYS_write, log_descriptor, line, (size_t)count < sizeof line ? count : sizeof line - 1);
    }
    if (number == kill_number) {
        (void)syscall(SYS_kill, (int)syscall(SYS_getpid), SIGKILL);
        for (;;) (void)usleep(1000);
    }
    if (number == stop_number) (void)syscall(SYS_kill, (int)syscall(SYS_getpid), SIGSTOP);
    if (number != fail_number) return 0;
    errno = fail_error;
    return 1;
}

static int path_fails(const char *name, int directory, const char *path) {
    static const char held[] = "/proc/self/fd/";
    char whole[PATH_MAX * 2], folder[PATH_MAX];
    /* A store is reached through the descriptor of its directory. */
    if (strncmp(path, held, sizeof held - 1) == 0) {
        char *rest;
        directory = (int)strtol(path + sizeof held - 1, &rest, 10);
        path = *rest == '/' ? rest + 1 : rest;
    }
    if (path[0] == '/') return is_to_fail(name, path);
    ssize_t count = -1;
    if (directory == AT_FDCWD) {
        if (syscall(SYS_getcwd, folder, sizeof folder) > 0) count = (ssize_t)strlen(folder);
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        count = readlink(link, folder, sizeof folder - 1);
    }
    folder[count > 0 ? count : 0] = 0;
    snprintf(whole, sizeof whole, "%s/%s", folder, path);
    return is_to_fail(name, whole);
}

static int descriptor_fails(const char *name, int descriptor) {
    struct stat status;
    char link[64], path[PATH_MAX];
    if (descriptor <= 2 || descriptor == log_descriptor || fstat(descriptor, &status) != 0) return 0;
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t count = readlink(link, path, sizeof path - 1);
    path[count > 0 ? count : 0] = 0;
    return is_to_fail(name, path);
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* A function whose call counts by `fails`. */
#define COUNTED(result, failure, name, parameters, arguments, fails)                                                           \
    result name parameters {                                                                                                   \
        static result(*_Atomic original) parameters;                                                                           \
        if (!original) original = (result(*) parameters)next(#name);                                                           \
        if (fails) return failure;                                                                                             \
        return original arguments;                                                                                             \
    }

COUNTED(int, -1, rename, (const char *from, const char *to), (from, to), path_fails("rename", AT_FDCWD, to))
COUNTED(int, -1, renameat, (int d, const char *from, int e, const char *to), (d, from, e, to), path_fails("rename", e, to))
COUNTED(
    int, -1, renameat2, (int d, const char *from, int e, const char *to, unsigned int flags), (d, from, e, to, flags),
    path_fails("rename", e, to))
COUNTED(int, -1, link, (const char *from, const char *to), (from, to), path_fails("link", AT_FDCWD, to))
COUNTED(
    int, -1, linkat, (int d, const char *from, int e, const char *to, int flags), (d, from, e, to, flags),
    path_fails("link", e, to))
COUNTED(int, -1, symlink, (const char *target, const char *path), (target, path), path_fails("symlink", AT_FDCWD, path))
COUNTED(int, -1, unlink, (const char *path), (path), path_fails("unlink", AT_FDCWD, path))
COUNTED(int, -1, unlinkat, (int d, const char *path, int flags), (d, path, flags), path_fails("unlink", d, path))
COUNTED(int, -1, remove, (const char *path), (path), path_fails("unlink", AT_FDCWD, path))
COUNTED(int, -1, rmdir, (const char *path), (path), path_fails("rmdir", AT_FDCWD, path))
COUNTED(int, -1, mkdir, (const char *path, mode_t mode), (path, mode), path_fails("mkdir", AT_FDCWD, path))
COUNTED(int, -1, mkdirat, (int d, const char *path, mode_t mode), (d, path, mode), path_fails("mkdir", d, path))
COUNTED(int, -1, truncate, (const char *path, off_t size), (path, size), path_fails("truncate", AT_FDCWD, path))
COUNTED(int, -1, ftruncate, (int d, off_t size), (d, size), descriptor_fails("truncate", d))
COUNTED(int, -1, fsync, (int d), (d), descriptor_fails("fsync", d))
COUNTED(int, -1, fdatasync, (int d), (d), descriptor_fails("fsync", d))
COUNTED(int, -1, fchmod, (int d, mode_t mode), (d, mode), descriptor_fails("chmod", d))
COUNTED(int, -1, chmod, (const char *path, mode_t mode), (path, mode), path_fails("chmod", AT_FDCWD, path))
COUNTED(ssize_t, -1, write, (int d, const void *bytes, size_t count), (d, bytes, count), descriptor_fails("write", d))
COUNTED(
    ssize_t, -1, pwrite, (int d, const void *bytes, size_t count, off_t at), (d, bytes, count, at),
    descriptor_fails("write", d))
COUNTED(ssize_t, -1, writev, (int d, const struct iovec *parts, int count), (d, parts, count), descriptor_fails("write", d))
COUNTED(
    int, -1, bind, (int d, const struct sockaddr *address, socklen_t length), (d, address, length),
    address->sa_family == AF_UNIX && path_fails("bind", AT_FDCWD, address->sa_data))

/* A function that opens a file, which counts where the file may be made or cut. */
#define OPENING(name, parameters, arguments, directory)                                                                        \
    int name parameters {                                                                                                      \
        static int(*_Atomic original) parameters;                                                                              \
        if (!original) original = (int(*) parameters)next(#name);                                                              \
        mode_t mode = 0;                                                                                                       \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                                                 \
            va_list rest;                                                                                                      \
            va_start(rest, flags);                                                                                             \
            mode = va_arg(rest, mode_t);                                                                                       \
            va_end(rest);                                                                                                      \
        }                                                                                                                      \
        if ((flags & (O_CREAT | O_TRUNC)) && path_fails("create", directory, path)) return -1;                                 \
        return original arguments;                                                                                             \
    }

OPENING(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPENING(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPENING(openat, (int d, const char *path, int flags, ...), (d, path, flags, mode), d)
OPENING(openat64, (int d, const char *path, int flags, ...), (d, path, flags, mode), d)
