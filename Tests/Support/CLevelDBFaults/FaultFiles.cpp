// The files of the environment. A request that fails has done what the plan's effect says, and nothing else.

#include "FaultFiles.h"

#include <unistd.h>

#include <utility>

namespace stratus {
namespace {

using leveldb::Slice;
using leveldb::Status;

Status finish_read(
    stratus_fault_point point, const std::string &name, FaultPlan &plan, const Status &status, Slice *result) {
    Status planned;
    const auto effect = plan.pass(point, name, &planned);
    if (!status.ok() || !effect) return status;
    if (*effect == stratus_fault_shortened) {
        *result = Slice(result->data(), result->size() / 2);
        return Status::OK();
    }
    *result = Slice();
    return planned;
}

}  // namespace

FaultyWritableFile::FaultyWritableFile(
    std::string name, leveldb::WritableFile *file, FaultPlan &plan, leveldb::Env &clock)
    : name_(std::move(name)), file_(file), plan_(plan), clock_(clock) {}

Status FaultyWritableFile::Append(const Slice &data) {
    const AppendVerdict verdict = plan_.pass_append(name_, data.size());
    const Status status = file_->Append(Slice(data.data(), verdict.byte_count));
    byte_count_ += verdict.byte_count;
    if (!status.ok() || verdict.status.ok()) return status;
    // What a failed append has written lies in the file, not in a buffer.
    const Status flushed = file_->Flush();
    return flushed.ok() ? verdict.status : flushed;
}

Status FaultyWritableFile::Close() {
    Status planned;
    const auto effect = plan_.pass(stratus_fault_close, name_, &planned);
    // The descriptor is gone even where closing fails.
    const Status status = file_->Close();
    return status.ok() && effect ? planned : status;
}

Status FaultyWritableFile::Flush() {
    Status planned;
    const auto effect = plan_.pass(stratus_fault_flush, name_, &planned);
    if (effect && *effect != stratus_fault_done) return planned;
    const Status status = file_->Flush();
    return status.ok() && effect ? planned : status;
}

Status FaultyWritableFile::Sync() {
    Status planned;
    const auto effect = plan_.pass(stratus_fault_sync, name_, &planned);
    if (const uint64_t delay = plan_.sync_delay_microseconds()) {
        clock_.SleepForMicroseconds(static_cast<int>(delay));
    }
    if (effect && *effect == stratus_fault_lost) {
        const Status status = lose_unsynced_bytes();
        return status.ok() ? planned : status;
    }
    const Status status = file_->Flush();
    if (!status.ok()) return status;
    if (effect) return planned;
    synced_byte_count_ = byte_count_;
    plan_.note_sync(name_);
    return status;
}

Status FaultyWritableFile::lose_unsynced_bytes() {
    const Status status = file_->Flush();
    if (!status.ok()) return status;
    if (::truncate(name_.c_str(), static_cast<off_t>(synced_byte_count_)) == 0) return Status::OK();
    return Status::IOError(name_, "unsynced bytes could not be cut off");
}

FaultySequentialFile::FaultySequentialFile(std::string name, leveldb::SequentialFile *file, FaultPlan &plan)
    : name_(std::move(name)), file_(file), plan_(plan) {}

Status FaultySequentialFile::Read(size_t count, Slice *result, char *scratch) {
    return finish_read(stratus_fault_read_sequential, name_, plan_, file_->Read(count, result, scratch), result);
}

Status FaultySequentialFile::Skip(uint64_t count) {
    return file_->Skip(count);
}

FaultyRandomAccessFile::FaultyRandomAccessFile(std::string name, leveldb::RandomAccessFile *file, FaultPlan &plan)
    : name_(std::move(name)), file_(file), plan_(plan) {}

Status FaultyRandomAccessFile::Read(uint64_t offset, size_t count, Slice *result, char *scratch) const {
    return finish_read(stratus_fault_read_random, name_, plan_, file_->Read(offset, count, result, scratch), result);
}

}  // namespace stratus
