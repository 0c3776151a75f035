/* Local stream sockets in a directory; see the header. */

#define _GNU_SOURCE
#include "CLocalSocket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A directory that is open, and a socket's name in it. */
struct place {
    int directory;
    char name[64];
    struct sockaddr_un address;
};

static int terminate(char *text, size_t capacity, const uint8_t *bytes, size_t count) {
    if (count >= capacity) return ENAMETOOLONG;
    if (memchr(bytes, 0, count) != NULL) return EINVAL;
    memcpy(text, bytes, count);
    text[count] = 0;
    return 0;
}

/* 0, or an errno. The caller closes the directory of a place that was opened. */
static int open_place(
    struct place *place, const uint8_t *directory, size_t count, const uint8_t *name, size_t name_count) {
    char path[PATH_MAX];
    memset(place, 0, sizeof *place);
    int error = terminate(path, sizeof path, directory, count);
    if (error == 0) error = terminate(place->name, sizeof place->name, name, name_count);
    if (error == 0 && memchr(name, '/', name_count) != NULL) error = EINVAL;
    if (error != 0) return error;
    do {
        place->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    } while (place->directory < 0 && errno == EINTR);
    if (place->directory < 0) return errno;
    place->address.sun_family = AF_UNIX;
    /* Short, however long the path of the directory is. */
    snprintf(
        place->address.sun_path, sizeof place->address.sun_path, "/proc/self/fd/%d/%s", place->directory, place->name);
    return 0;
}

/* 0, or an errno. */
static int remove_socket(const struct place *place) {
    struct stat status;
    if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    if (!S_ISSOCK(status.st_mode)) return EEXIST;
    return unlinkat(place->directory, place->name, 0) == 0 ? 0 : errno;
}

static int listen_at(const struct place *place, int backlog) {
    int error = remove_socket(place);
    if (error != 0 && error != ENOENT) return -error;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) return -errno;
    /* No process can connect before listen, and the mode is set by then. */
    if (bind(listener, (const struct sockaddr *)&place->address, sizeof place->address) != 0) {
        error = errno;
    } else if (
        fchmodat(place->directory, place->name, S_IRUSR | S_IWUSR, 0) != 0 || listen(listener, backlog) != 0) {
        error = errno;
        unlinkat(place->directory, place->name, 0);
    } else {
        return listener;
    }
    close(listener);
    return -error;
}

int clocalsocket_listen(
    const uint8_t *directory, size_t count, const uint8_t *name, size_t name_count, int backlog) {
    struct place place;
    int error = open_place(&place, directory, count, name, name_count);
    if (error != 0) return -error;
    int listener = listen_at(&place, backlog);
    close(place.directory);
    return listener;
}

int clocalsocket_connect(const uint8_t *directory, size_t count, const uint8_t *name, size_t name_count) {
    struct place place;
    int error = open_place(&place, directory, count, name, name_count);
    if (error != 0) return -error;
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0) {
        error = errno;
    } else {
        int result;
        do {
            result = connect(connection, (const struct sockaddr *)&place.address, sizeof place.address);
        } while (result != 0 && errno == EINTR);
        if (result == 0 && fcntl(connection, F_SETFL, O_NONBLOCK) != 0) result = -1;
        if (result != 0) {
            error = errno;
            close(connection);
        }
    }
    close(place.directory);
    return error != 0 ? -error : connection;
}

int clocalsocket_remove(const uint8_t *directory, size_t count, const uint8_t *name, size_t name_count) {
    struct place place;
    int error = open_place(&place, directory, count, name, name_count);
    if (error != 0) return -error;
    error = remove_socket(&place);
    close(place.directory);
    return -error;
}

int clocalsocket_accept(int listener) {
    int connection;
    do {
        connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    } while (connection < 0 && (errno == EINTR || errno == ECONNABORTED));
    return connection < 0 ? -errno : connection;
}

struct clocalsocket_peer clocalsocket_peer_of(int connection) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
        return (struct clocalsocket_peer){.error = errno};
    }
    return (struct clocalsocket_peer){.user = credentials.uid, .process = credentials.pid};
}

uint32_t clocalsocket_own_user(void) { return geteuid(); }

static int wait_for(int socket, short events, int milliseconds, short *found) {
    struct pollfd descriptor = {.fd = socket, .events = events};
    int count;
    do {
        count = poll(&descriptor, 1, milliseconds);
    } while (count < 0 && errno == EINTR);
    *found = descriptor.revents;
    return count < 0 ? -errno : count;
}

int clocalsocket_wait(int connection, int milliseconds) {
    short found;
    return wait_for(connection, POLLIN, milliseconds, &found);
}

int clocalsocket_is_hung_up(int connection) {
    short found;
    return wait_for(connection, 0, 0, &found) > 0 && (found & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

int64_t clocalsocket_receive(int connection, uint8_t *buffer, size_t count) {
    ssize_t received;
    do {
        received = recv(connection, buffer, count, 0);
    } while (received < 0 && errno == EINTR);
    return received < 0 ? -errno : received;
}

int64_t clocalsocket_send(int connection, const uint8_t *bytes, size_t count, int milliseconds) {
    while (1) {
        ssize_t sent = send(connection, bytes, count, MSG_NOSIGNAL);
        if (sent >= 0) return sent;
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return -errno;
        short found;
        int ready = wait_for(connection, POLLOUT, milliseconds, &found);
        if (ready < 0) return ready;
        if (ready == 0) return -ETIMEDOUT;
    }
}

void clocalsocket_stop(int socket, int both) { shutdown(socket, both ? SHUT_RDWR : SHUT_RD); }

void clocalsocket_close(int socket) { close(socket); }
