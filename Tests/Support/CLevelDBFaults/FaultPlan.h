/* What is to fail, and what has been asked so far: counters behind one lock. It knows no LevelDB but its `Status`. */
#ifndef FAULTPLAN_H
#define FAULTPLAN_H

#include <leveldb/status.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "include/CLevelDBFaults.h"

namespace stratus {

/// What is to become of one append.
struct AppendVerdict {
    /// How many bytes are to be written.
    uint64_t byte_count;
    /// What to answer.
    leveldb::Status status;
};

class FaultPlan {
public:
    void arm(stratus_fault_point point, stratus_fault_effect effect, uint64_t occurrence, uint64_t repetitions);
    void limit_disk(uint64_t byte_count);
    void slow_syncs(uint64_t microseconds);
    void disarm();

    /// Counts a request. Returns what it has done nevertheless when it is to fail, and sets `status`.
    std::optional<stratus_fault_effect> pass(
        stratus_fault_point point, const std::string &file, leveldb::Status *status);
    AppendVerdict pass_append(const std::string &file, uint64_t byte_count);

    void observe_syncs(stratus_fault_sync_observer observer, void *context);
    /// A file was synced: everything that was appended to it.
    void note_sync(const std::string &file) const;

    uint64_t count(stratus_fault_point point) const;
    uint64_t fault_count() const;
    uint64_t appended_byte_count() const;
    uint64_t sync_delay_microseconds() const;

private:
    struct Fault {
        stratus_fault_effect effect;
        uint64_t first;
        uint64_t repetitions;
    };

    std::optional<stratus_fault_effect> pass_locked(
        stratus_fault_point point, const std::string &file, leveldb::Status *status);

    mutable std::mutex mutex_;
    std::array<uint64_t, stratus_fault_point_count> counts_{};
    std::array<std::optional<Fault>, stratus_fault_point_count> faults_{};
    std::optional<uint64_t> room_;
    stratus_fault_sync_observer observer_ = nullptr;
    void *observer_context_ = nullptr;
    uint64_t fault_count_ = 0;
    uint64_t appended_byte_count_ = 0;
    uint64_t sync_delay_microseconds_ = 0;
};

}  // namespace stratus

#endif
