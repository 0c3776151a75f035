// Counts requests and says which fail. The text of a planned error names the request and the file, and ends like the
// operating system's own, because that is what LevelDB hands on.

#include "FaultPlan.h"

#include <cerrno>
#include <cstring>

namespace stratus {
namespace {

const char *name(stratus_fault_point point) {
    switch (point) {
        case stratus_fault_append: return "append";
        case stratus_fault_flush: return "flush";
        case stratus_fault_sync: return "sync";
        case stratus_fault_close: return "close";
        case stratus_fault_rename: return "rename";
        case stratus_fault_remove: return "remove";
        case stratus_fault_open_writable: return "open for writing";
        case stratus_fault_open_sequential: return "open for reading in order";
        case stratus_fault_open_random: return "open for reading anywhere";
        case stratus_fault_read_sequential: return "read in order";
        case stratus_fault_read_random: return "read anywhere";
        case stratus_fault_list: return "list";
        case stratus_fault_lock: return "lock";
        case stratus_fault_point_count: break;
    }
    return "unknown";
}

leveldb::Status planned_error(stratus_fault_point point, uint64_t occurrence, const std::string &file, int number) {
    const std::string place = file + ": planned fault, " + name(point) + " " + std::to_string(occurrence);
    return leveldb::Status::IOError(place, std::strerror(number));
}

}  // namespace

void FaultPlan::arm(
    stratus_fault_point point, stratus_fault_effect effect, uint64_t occurrence, uint64_t repetitions) {
    const std::lock_guard<std::mutex> lock(mutex_);
    faults_.at(point) = Fault{effect, counts_.at(point) + occurrence, repetitions};
}

void FaultPlan::limit_disk(uint64_t byte_count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    room_ = byte_count;
}

void FaultPlan::slow_syncs(uint64_t microseconds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sync_delay_microseconds_ = microseconds;
}

void FaultPlan::disarm() {
    const std::lock_guard<std::mutex> lock(mutex_);
    faults_ = {};
    room_.reset();
    sync_delay_microseconds_ = 0;
}

std::optional<stratus_fault_effect> FaultPlan::pass(
    stratus_fault_point point, const std::string &file, leveldb::Status *status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return pass_locked(point, file, status);
}

std::optional<stratus_fault_effect> FaultPlan::pass_locked(
    stratus_fault_point point, const std::string &file, leveldb::Status *status) {
    const uint64_t occurrence = ++counts_.at(point);
    const auto &fault = faults_.at(point);
    if (!fault || occurrence < fault->first || occurrence - fault->first >= fault->repetitions) return std::nullopt;
    ++fault_count_;
    *status = planned_error(point, occurrence, file, EIO);
    return fault->effect;
}

AppendVerdict FaultPlan::pass_append(const std::string &file, uint64_t byte_count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    AppendVerdict verdict{byte_count, leveldb::Status::OK()};
    if (const auto effect = pass_locked(stratus_fault_append, file, &verdict.status)) {
        verdict.byte_count = *effect == stratus_fault_shortened ? byte_count / 2
                             : *effect == stratus_fault_done    ? byte_count
                                                                : 0;
    } else if (room_ && *room_ < byte_count) {
        ++fault_count_;
        verdict.byte_count = *room_;
        verdict.status = planned_error(stratus_fault_append, counts_.at(stratus_fault_append), file, ENOSPC);
    }
    if (room_) *room_ -= verdict.byte_count < *room_ ? verdict.byte_count : *room_;
    appended_byte_count_ += verdict.byte_count;
    return verdict;
}

void FaultPlan::observe_syncs(stratus_fault_sync_observer observer, void *context) {
    const std::lock_guard<std::mutex> lock(mutex_);
    observer_ = observer;
    observer_context_ = context;
}

void FaultPlan::note_sync(const std::string &file) const {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto observer = observer_;
    void *const context = observer_context_;
    lock.unlock();
    if (observer) observer(context, file.c_str());
}

uint64_t FaultPlan::count(stratus_fault_point point) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_.at(point);
}

uint64_t FaultPlan::fault_count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return fault_count_;
}

uint64_t FaultPlan::appended_byte_count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return appended_byte_count_;
}

uint64_t FaultPlan::sync_delay_microseconds() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sync_delay_microseconds_;
}

}  // namespace stratus
