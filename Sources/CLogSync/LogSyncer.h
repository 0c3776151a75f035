/* A thread that syncs one file at a time. */
#ifndef LOGSYNCER_H
#define LOGSYNCER_H

#include <leveldb/env.h>
#include <leveldb/status.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace stratus {

/// Syncs files on a thread of its own, which is made when there is first something to sync.
class LogSyncer {
public:
    LogSyncer() = default;
    ~LogSyncer();
    LogSyncer(const LogSyncer &) = delete;
    LogSyncer &operator=(const LogSyncer &) = delete;

    /// Begins to sync a file, which must not be touched until the sync has ended. Where there can be no thread it is synced
    /// at once, and how that has ended is returned.
    leveldb::Status begin(leveldb::WritableFile *file);

    /// Waits until no sync runs.
    void wait();

    /// Waits, and tells once how the syncs since the last call have ended: the first error, if there is one.
    leveldb::Status finish();

private:
    void run();
    void wait(std::unique_lock<std::mutex> &lock);

    std::mutex mutex_;
    std::condition_variable begun_;
    std::condition_variable ended_;
    std::thread thread_;
    /// The file that is being synced, or is to be.
    leveldb::WritableFile *file_ = nullptr;
    leveldb::Status result_;
    bool is_over_ = false;
};

}  // namespace stratus

#endif
