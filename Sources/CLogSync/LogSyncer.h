/* A thread that syncs one file at a time. */
#ifndef LOGSYNCER_H
#define LOGSYNCER_H

#include <leveldb/env.h>
#include <leveldb/status.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace stratus {

/// Syncs files on its own thread, which starts with the first sync.
class LogSyncer {
public:
    LogSyncer() = default;
    ~LogSyncer();
    LogSyncer(const LogSyncer &) = delete;
    LogSyncer &operator=(const LogSyncer &) = delete;

    /// Begins to sync a file, which must not be used until the sync has ended. If no thread can be created, syncs it at
    /// once and returns the result.
    leveldb::Status begin(leveldb::WritableFile *file);

    /// Waits until no sync runs.
    void wait();

    /// Waits, and returns the first error of the syncs since the last call, if any.
    leveldb::Status finish();

private:
    void run();
    void wait(std::unique_lock<std::mutex> &lock);

    std::mutex mutex_;
    std::condition_variable begun_;
    std::condition_variable ended_;
    std::thread thread_;
    /// The file that is being synced, or will be.
    leveldb::WritableFile *file_ = nullptr;
    leveldb::Status result_;
    bool is_over_ = false;
};

}  // namespace stratus

#endif
