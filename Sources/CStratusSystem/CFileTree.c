/* Files and directories by the raw bytes of their names; see the header. */

#define _GNU_SOURCE
#include "CFileTree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A path with the final NUL that POSIX wants; 0, or an errno. */
struct terminated_path {
    char text[PATH_MAX];
};

static int terminate(struct terminated_path *path, const uint8_t *bytes, size_t count) {
    if (count >= sizeof path->text) return ENAMETOOLONG;
    if (memchr(bytes, 0, count) != NULL) return EINVAL;
    memcpy(path->text, bytes, count);
    path->text[count] = 0;
    return 0;
}

static struct cfiletree_facts facts(int result, const struct stat *status) {
    struct cfiletree_facts facts = {0};
    if (result != 0) {
        facts.error = errno;
        return facts;
    }
    facts.mode = status->st_mode;
    facts.byte_count = status->st_size;
    facts.modified_seconds = status->st_mtim.tv_sec;
    facts.modified_nanoseconds = status->st_mtim.tv_nsec;
    facts.changed_seconds = status->st_ctim.tv_sec;
    facts.changed_nanoseconds = status->st_ctim.tv_nsec;
    facts.device = status->st_dev;
    facts.inode = status->st_ino;
    return facts;
}

static struct cfiletree_facts facts_at(const uint8_t *path, size_t count, int flags) {
    struct terminated_path terminated;
    struct stat status;
    int error = terminate(&terminated, path, count);
    if (error != 0) return (struct cfiletree_facts){.error = error};
    return facts(fstatat(AT_FDCWD, terminated.text, &status, flags), &status);
}

struct cfiletree_facts cfiletree_facts_of_path(const uint8_t *path, size_t count) {
    return facts_at(path, count, AT_SYMLINK_NOFOLLOW);
}

struct cfiletree_facts cfiletree_facts_of_target(const uint8_t *path, size_t count) {
    return facts_at(path, count, 0);
}

struct cfiletree_facts cfiletree_facts_of_descriptor(int descriptor) {
    struct stat status;
    return facts(fstat(descriptor, &status), &status);
}

static int open_path(const uint8_t *path, size_t count, int flags) {
    struct terminated_path terminated;
    int error = terminate(&terminated, path, count);
    if (error != 0) return -error;
    int descriptor;
    do {
        descriptor = open(terminated.text, flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor < 0 ? -errno : descriptor;
}

int cfiletree_open_directory(const uint8_t *path, size_t count) { return open_path(path, count, O_DIRECTORY); }

int cfiletree_open_file(const uint8_t *path, size_t count) { return open_path(path, count, O_NONBLOCK | O_NOCTTY); }

int cfiletree_create_file(const uint8_t *path, size_t count) {
    struct terminated_path terminated;
    int error = terminate(&terminated, path, count);
    if (error != 0) return -error;
    int descriptor;
    do {
        descriptor = open(terminated.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor < 0 ? -errno : descriptor;
}

int cfiletree_create_directory(const uint8_t *path, size_t count) {
    struct terminated_path terminated;
    int error = terminate(&terminated, path, count);
    if (error != 0) return -error;
    return mkdir(terminated.text, 0700) == 0 ? 0 : -errno;
}

int cfiletree_remove_file(const uint8_t *path, size_t count) {
    struct terminated_path terminated;
    int error = terminate(&terminated, path, count);
    if (error != 0) return -error;
    return unlink(terminated.text) == 0 ? 0 : -errno;
}

int cfiletree_remove_directory(const uint8_t *path, size_t count) {
    struct terminated_path terminated;
    int error = terminate(&terminated, path, count);
    if (error != 0) return -error;
    return rmdir(terminated.text) == 0 ? 0 : -errno;
}

int cfiletree_rename(const uint8_t *path, size_t count, const uint8_t *new_path, size_t new_count) {
    struct terminated_path from, to;
    int error = terminate(&from, path, count);
    if (error == 0) error = terminate(&to, new_path, new_count);
    if (error != 0) return -error;
    return rename(from.text, to.text) == 0 ? 0 : -errno;
}

int cfiletree_link(const uint8_t *path, size_t count, const uint8_t *new_path, size_t new_count) {
    struct terminated_path from, to;
    int error = terminate(&from, path, count);
    if (error == 0) error = terminate(&to, new_path, new_count);
    if (error != 0) return -error;
    return link(from.text, to.text) == 0 ? 0 : -errno;
}

int cfiletree_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno; }

void cfiletree_begin_sync(int descriptor) { (void)sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE); }

int cfiletree_sync(int descriptor) {
    int result;
    do {
        result = fsync(descriptor);
    } while (result < 0 && errno == EINTR);
    return result == 0 ? 0 : -errno;
}

int64_t cfiletree_read_entries(int descriptor, uint8_t *buffer, size_t count) {
    long result = syscall(SYS_getdents64, descriptor, buffer, count);
    return result < 0 ? -errno : result;
}

int64_t cfiletree_read(int descriptor, uint8_t *buffer, size_t count) {
    ssize_t result;
    do {
        result = read(descriptor, buffer, count);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
}

int64_t cfiletree_write(int descriptor, const uint8_t *bytes, size_t count) {
    ssize_t result;
    do {
        result = write(descriptor, bytes, count);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
}

int64_t cfiletree_read_link(const uint8_t *path, size_t count, uint8_t *buffer, size_t capacity) {
    struct terminated_path terminated;
    int error = terminate(&terminated, path, count);
    if (error != 0) return -error;
    ssize_t result = readlink(terminated.text, (char *)buffer, capacity);
    return result < 0 ? -errno : result;
}

void cfiletree_close(int descriptor) { (void)close(descriptor); }

int cfiletree_is_terminal(int descriptor) { return isatty(descriptor); }

int cfiletree_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int cfiletree_is_writable(int descriptor) {
    struct pollfd request = {.fd = descriptor, .events = POLLOUT};
    return poll(&request, 1, 0) == 1 && (request.revents & POLLOUT) != 0;
}

void cfiletree_sleep(int milliseconds) {
    struct timespec span = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    (void)nanosleep(&span, NULL);
}

/* The end of the pipe that signals are written to. */
void cfiletree_page_out(uint64_t address, uint64_t byte_count) {
    /* Kernels before 5.4 do not know the advice and refuse it, which costs nothing but the figure. */
    (void)madvise((void *)(uintptr_t)address, byte_count, MADV_PAGEOUT);
}

void cfiletree_begin_process(void) {
    /* Opened for the other direction, so that reading and writing still fail. */
    static const int contrary[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) (void)open("/dev/null", contrary[descriptor]);
    }
    (void)signal(SIGXFSZ, SIG_IGN);
}

static int signal_pipe = -1;

static void note_signal(int signal) {
    int saved = errno;
    unsigned char number = (unsigned char)signal;
    if (write(signal_pipe, &number, 1) < 0) { /* The pipe is full of signals that wait to be read. */
    }
    errno = saved;
}

int cfiletree_catch_signals(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    signal_pipe = ends[1];
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    /* Who started the process may have done so on a thread that takes no signals. */
    sigset_t taken;
    (void)sigemptyset(&taken);
    for (size_t index = 0; index < sizeof caught / sizeof *caught; index++) {
        struct sigaction old;
        if (sigaction(caught[index], NULL, &old) == 0 && old.sa_handler == SIG_IGN) continue;
        (void)sigaction(caught[index], &action, NULL);
        (void)sigaddset(&taken, caught[index]);
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &taken, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return ends[0];
}

void cfiletree_end_by_signal(int number) {
    sigset_t only;
    (void)sigemptyset(&only);
    (void)sigaddset(&only, number);
    (void)signal(number, SIG_DFL);
    (void)pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    (void)raise(number);
    _exit(128 + number);
}
