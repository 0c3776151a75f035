/* Files and directories by the raw bytes of their names, and the signals that end a process: the few calls of POSIX
 * that the tool and the server's store of assets need.
 *
 * Foundation takes file names for UTF-8; on Linux they are any bytes. Every pointer here carries its length and does not
 * outlive the call, so Swift sees spans and needs no unsafe line. A result below zero is a negated errno.
 */
#ifndef CFILETREE_H
#define CFILETREE_H

#include <stddef.h>
#include <stdint.h>

/* Only a compiler that checks bounds, as Swift's importer does, understands the lengths. */
#if __has_include(<ptrcheck.h>)
#include <ptrcheck.h>
#endif
#ifdef __counted_by
#define CFILETREE_COUNTED(length) __counted_by(length)
#else
#define CFILETREE_COUNTED(length)
#endif
#define CFILETREE_SCOPED __attribute__((noescape))

/* The result of lstat or fstat; `error` is an errno, or 0. */
struct cfiletree_facts {
    int32_t error;
    uint32_t mode;
    int64_t byte_count;
    int64_t modified_seconds;
    int64_t modified_nanoseconds;
    /* When the file's content or attributes last changed: no process can set it back. */
    int64_t changed_seconds;
    int64_t changed_nanoseconds;
    uint64_t device;
    uint64_t inode;
};

/* The facts of a path; a symbolic link is not followed. */
struct cfiletree_facts cfiletree_facts_of_path(
    const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count);

/* The facts of a path; a symbolic link is followed. */
struct cfiletree_facts cfiletree_facts_of_target(
    const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count);

/* The facts of an open file. */
struct cfiletree_facts cfiletree_facts_of_descriptor(int descriptor);

/* A descriptor for reading a directory. A symbolic link is refused. */
int cfiletree_open_directory(const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count);

/* A descriptor for reading a file. A symbolic link is refused, and a pipe does not make it wait. */
int cfiletree_open_file(const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count);

/* A descriptor for writing a file that is not there yet, for its owner alone. */
int cfiletree_create_file(const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count);

/* Creates a directory that only its owner can use: 0, or below zero. */
int cfiletree_create_directory(const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count);

/* Removes the name of a file, or an empty directory: 0, or below zero. */
int cfiletree_remove_file(const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count);
int cfiletree_remove_directory(const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count);

/* Gives a file another name, in place of the file that had it: 0, or below zero. */
int cfiletree_rename(
    const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count,
    const uint8_t *CFILETREE_COUNTED(new_count) new_path CFILETREE_SCOPED, size_t new_count);

/* Gives a file a second name: 0, or below zero. */
int cfiletree_link(
    const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count,
    const uint8_t *CFILETREE_COUNTED(new_count) new_path CFILETREE_SCOPED, size_t new_count);

/* Locks an open file for this descriptor, until it is closed or the process ends: 0, or below zero where another has the
 * lock or there are no such locks. */
int cfiletree_lock(int descriptor);

/* Lets the disk begin to write a file, without waiting. */
void cfiletree_begin_sync(int descriptor);

/* Returns when an open file or directory is on the disk: 0, or below zero. */
int cfiletree_sync(int descriptor);

/* The next entries of a directory as the kernel lays them out (struct linux_dirent64): how many bytes, 0 at its end. */
int64_t cfiletree_read_entries(
    int descriptor, uint8_t *CFILETREE_COUNTED(count) buffer CFILETREE_SCOPED, size_t count);

/* The next bytes of a file: how many, 0 at its end. */
int64_t cfiletree_read(int descriptor, uint8_t *CFILETREE_COUNTED(count) buffer CFILETREE_SCOPED, size_t count);

/* Writes bytes: how many were taken. */
int64_t cfiletree_write(
    int descriptor, const uint8_t *CFILETREE_COUNTED(count) bytes CFILETREE_SCOPED, size_t count);

/* Where a symbolic link points: how many bytes of `buffer` it takes. */
int64_t cfiletree_read_link(
    const uint8_t *CFILETREE_COUNTED(count) path CFILETREE_SCOPED, size_t count,
    uint8_t *CFILETREE_COUNTED(capacity) buffer CFILETREE_SCOPED, size_t capacity);

/* Closes a descriptor. */
void cfiletree_close(int descriptor);

/* Whether a descriptor is a terminal, and how many columns it has (0: unknown). */
int cfiletree_is_terminal(int descriptor);
int cfiletree_terminal_columns(int descriptor);

/* Whether a descriptor takes some bytes immediately: 1, or 0 if a write would block. */
int cfiletree_is_writable(int descriptor);

/* Lets this thread sleep. */
void cfiletree_sleep(int milliseconds);

/* Lets the kernel evict the pages of mapped memory; the next access reads them again. */
void cfiletree_page_out(uint64_t address, uint64_t byte_count);

/* Makes sure that no file which the process opens becomes its standard input, output or error, if these were closed; and
 * that a write beyond the limit of file sizes fails with EFBIG. To be called first. */
void cfiletree_begin_process(void);

/* From here on SIGINT, SIGTERM and SIGHUP, where they were not ignored, are one byte each to be read from the descriptor
 * that is returned, also if they were blocked on this thread; and a pipe without a reader fails its writer with EPIPE.
 * Below zero: a negated errno. To be called once. */
int cfiletree_catch_signals(void);

/* Ends the process as the uncaught signal would have. */
void cfiletree_end_by_signal(int signal);

#endif
