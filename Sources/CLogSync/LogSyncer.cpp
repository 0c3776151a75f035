// The thread and the state that it shares with waiting callers. One lock guards everything except the syncs themselves.

#include "LogSyncer.h"

#include <system_error>

namespace stratus {

LogSyncer::~LogSyncer() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_over_ = true;
        begun_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
}

leveldb::Status LogSyncer::begin(leveldb::WritableFile *file) {
    std::unique_lock<std::mutex> lock(mutex_);
    wait(lock);
    try {
        if (!thread_.joinable()) thread_ = std::thread(&LogSyncer::run, this);
    } catch (const std::system_error &) {
        return file->Sync();
    }
    file_ = file;
    begun_.notify_one();
    return leveldb::Status::OK();
}

void LogSyncer::wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    wait(lock);
}

leveldb::Status LogSyncer::finish() {
    std::unique_lock<std::mutex> lock(mutex_);
    wait(lock);
    const leveldb::Status result = result_;
    result_ = leveldb::Status::OK();
    return result;
}

void LogSyncer::wait(std::unique_lock<std::mutex> &lock) {
    ended_.wait(lock, [this] { return file_ == nullptr; });
}

void LogSyncer::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        begun_.wait(lock, [this] { return file_ != nullptr || is_over_; });
        if (file_ == nullptr) return;
        leveldb::WritableFile *const file = file_;
        lock.unlock();
        const leveldb::Status status = file->Sync();
        lock.lock();
        if (result_.ok()) result_ = status;
        file_ = nullptr;
        ended_.notify_all();
    }
}

}  // namespace stratus
