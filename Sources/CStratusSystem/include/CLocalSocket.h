/* Local stream sockets in a directory: the few calls of POSIX that a host and its tool need to talk.
 *
 * A socket's address holds 108 bytes and the path of a store may be longer, so that a name is bound and found below an open
 * directory. Every pointer here carries its length and does not outlive the call, so Swift sees spans and needs no unsafe
 * line. A result below zero is a negated errno. Nothing here raises SIGPIPE, and every descriptor is closed by exec.
 */
#ifndef CLOCALSOCKET_H
#define CLOCALSOCKET_H

#include <stddef.h>
#include <stdint.h>

/* Only a compiler that checks bounds, as Swift's importer does, understands the lengths. */
#if __has_include(<ptrcheck.h>)
#include <ptrcheck.h>
#endif
#ifdef __counted_by
#define CLOCALSOCKET_COUNTED(length) __counted_by(length)
#else
#define CLOCALSOCKET_COUNTED(length)
#endif
#define CLOCALSOCKET_SCOPED __attribute__((noescape))

/* Who is at the other end of a connection, as the kernel saw them when it was made; `error` is an errno, or 0. */
struct clocalsocket_peer {
    int32_t error;
    uint32_t user;
    int32_t process;
};

/* A descriptor that accepts connections at a name in a directory, which only its owner may open (0600). An existing
 * socket is replaced: the caller must make sure that no process uses it. Anything else at that name is EEXIST. */
int clocalsocket_listen(
    const uint8_t *CLOCALSOCKET_COUNTED(count) directory CLOCALSOCKET_SCOPED, size_t count,
    const uint8_t *CLOCALSOCKET_COUNTED(name_count) name CLOCALSOCKET_SCOPED, size_t name_count, int backlog);

/* A connection to a socket. ENOENT if there is no socket, ECONNREFUSED if no process listens. */
int clocalsocket_connect(
    const uint8_t *CLOCALSOCKET_COUNTED(count) directory CLOCALSOCKET_SCOPED, size_t count,
    const uint8_t *CLOCALSOCKET_COUNTED(name_count) name CLOCALSOCKET_SCOPED, size_t name_count);

/* Removes a socket's name: 0, or below zero. Anything else at the name stays. */
int clocalsocket_remove(
    const uint8_t *CLOCALSOCKET_COUNTED(count) directory CLOCALSOCKET_SCOPED, size_t count,
    const uint8_t *CLOCALSOCKET_COUNTED(name_count) name CLOCALSOCKET_SCOPED, size_t name_count);

/* The next connection; waits for it. EINVAL once the listening socket was stopped. */
int clocalsocket_accept(int listener);

struct clocalsocket_peer clocalsocket_peer_of(int connection);

/* The user on whose behalf this process acts. */
uint32_t clocalsocket_own_user(void);

/* Whether bytes or the end can be received within so many milliseconds: 1 or 0; below zero waits on and on. */
int clocalsocket_wait(int connection, int milliseconds);

/* Whether the other end is gone permanently: it neither sends nor receives. */
int clocalsocket_is_hung_up(int connection);

/* The next bytes that have come: how many, 0 at the end, EAGAIN where there are none yet. */
int64_t clocalsocket_receive(
    int connection, uint8_t *CLOCALSOCKET_COUNTED(count) buffer CLOCALSOCKET_SCOPED, size_t count);

/* Sends bytes as far as there is room within so many milliseconds: how many, or ETIMEDOUT; below zero waits on and on. */
int64_t clocalsocket_send(
    int connection, const uint8_t *CLOCALSOCKET_COUNTED(count) bytes CLOCALSOCKET_SCOPED, size_t count,
    int milliseconds);

/* Wakes the threads that wait at a socket: from here on nothing is received, and with `both` nothing is sent. */
void clocalsocket_stop(int socket, int both);

void clocalsocket_close(int socket);

#endif
