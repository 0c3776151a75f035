// The environment and its C API.
//
// Pinned to LevelDB 1.23: the virtual functions overridden here, and the layout of the C API's `leveldb_env_t`, which
// its header does not show. It is `struct leveldb_env_t { Env *rep; bool is_default; };`, and `leveldb_options_set_env`
// reads `rep`.

#include <leveldb/c.h>
#include <leveldb/db.h>
#include <leveldb/env.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "FaultFiles.h"
#include "FaultPlan.h"
#include "include/CLevelDBFaults.h"

static_assert(
    leveldb::kMajorVersion == 1 && leveldb::kMinorVersion == 23,
    "This code repeats the layout of LevelDB 1.23: look at leveldb_env_t in db/c.cc of this version first.");

namespace stratus {
namespace {

using leveldb::Status;

/// The layout of `leveldb_env_t` in LevelDB 1.23.
struct PinnedEnvironment {
    leveldb::Env *rep;
    bool is_default;
};
static_assert(offsetof(PinnedEnvironment, rep) == 0, "LevelDB reads the environment at the beginning.");

class FaultEnvironment final : public leveldb::EnvWrapper {
public:
    FaultEnvironment() : EnvWrapper(leveldb::Env::Default()) {}

    FaultPlan plan;

    Status NewSequentialFile(const std::string &name, leveldb::SequentialFile **result) override {
        *result = nullptr;
        Status planned;
        if (plan.pass(stratus_fault_open_sequential, name, &planned)) return planned;
        leveldb::SequentialFile *file = nullptr;
        const Status status = target()->NewSequentialFile(name, &file);
        if (status.ok()) *result = new FaultySequentialFile(name, file, plan);
        return status;
    }

    Status NewRandomAccessFile(const std::string &name, leveldb::RandomAccessFile **result) override {
        *result = nullptr;
        Status planned;
        if (plan.pass(stratus_fault_open_random, name, &planned)) return planned;
        leveldb::RandomAccessFile *file = nullptr;
        const Status status = target()->NewRandomAccessFile(name, &file);
        if (status.ok()) *result = new FaultyRandomAccessFile(name, file, plan);
        return status;
    }

    Status NewWritableFile(const std::string &name, leveldb::WritableFile **result) override {
        return open_writable(name, result, &leveldb::Env::NewWritableFile);
    }

    Status NewAppendableFile(const std::string &name, leveldb::WritableFile **result) override {
        return open_writable(name, result, &leveldb::Env::NewAppendableFile);
    }

    Status GetChildren(const std::string &name, std::vector<std::string> *result) override {
        Status planned;
        if (plan.pass(stratus_fault_list, name, &planned)) return planned;
        return target()->GetChildren(name, result);
    }

    Status RemoveFile(const std::string &name) override {
        return request(stratus_fault_remove, name, [&] { return target()->RemoveFile(name); });
    }

    Status RenameFile(const std::string &source, const std::string &destination) override {
        return request(stratus_fault_rename, source, [&] { return target()->RenameFile(source, destination); });
    }

    Status LockFile(const std::string &name, leveldb::FileLock **lock) override {
        *lock = nullptr;
        Status planned;
        if (plan.pass(stratus_fault_lock, name, &planned)) return planned;
        return target()->LockFile(name, lock);
    }

    void Schedule(void (*function)(void *), void *argument) override {
        {
            const std::lock_guard<std::mutex> lock(work_mutex_);
            ++work_count_;
        }
        auto work = std::make_unique<Work>(Work{this, function, argument});
        target()->Schedule(&FaultEnvironment::run, work.release());
    }

    void wait_until_idle() {
        std::unique_lock<std::mutex> lock(work_mutex_);
        work_ended_.wait(lock, [this] { return work_count_ == 0; });
    }

private:
    struct Work {
        FaultEnvironment *environment;
        void (*function)(void *);
        void *argument;
    };

    static void run(void *argument) {
        const std::unique_ptr<Work> work(static_cast<Work *>(argument));
        work->function(work->argument);
        // Notified under the lock: who waits may destroy the environment as soon as it has the lock.
        const std::lock_guard<std::mutex> lock(work->environment->work_mutex_);
        if (--work->environment->work_count_ == 0) work->environment->work_ended_.notify_all();
    }

    Status open_writable(
        const std::string &name, leveldb::WritableFile **result,
        Status (leveldb::Env::*open)(const std::string &, leveldb::WritableFile **)) {
        *result = nullptr;
        Status planned;
        if (plan.pass(stratus_fault_open_writable, name, &planned)) return planned;
        leveldb::WritableFile *file = nullptr;
        const Status status = (target()->*open)(name, &file);
        if (status.ok()) *result = new FaultyWritableFile(name, file, plan, *target());
        return status;
    }

    template <typename Action>
    Status request(stratus_fault_point point, const std::string &name, Action action) {
        Status planned;
        const auto effect = plan.pass(point, name, &planned);
        if (effect && *effect != stratus_fault_done) return planned;
        const Status status = action();
        return status.ok() && effect ? planned : status;
    }

    std::mutex work_mutex_;
    std::condition_variable work_ended_;
    int work_count_ = 0;
};

}  // namespace
}  // namespace stratus

struct stratus_fault_environment {
    stratus::FaultEnvironment environment;
    stratus::PinnedEnvironment pinned{&environment, false};
};

bool stratus_fault_environment_supports(int major_version, int minor_version) {
    return major_version == leveldb::kMajorVersion && minor_version == leveldb::kMinorVersion;
}

stratus_fault_environment *stratus_fault_environment_create(const char **error) {
    if (!stratus_fault_environment_supports(leveldb_major_version(), leveldb_minor_version())) {
        *error = "The library that is loaded is not LevelDB 1.23, whose layout these faults are pinned to.";
        return nullptr;
    }
    *error = nullptr;
    return new stratus_fault_environment();
}

void stratus_fault_environment_destroy(stratus_fault_environment *environment) {
    environment->environment.wait_until_idle();
    delete environment;
}

struct leveldb_env_t *stratus_fault_environment_pointer(stratus_fault_environment *environment) {
    return reinterpret_cast<leveldb_env_t *>(&environment->pinned);
}

void stratus_fault_environment_arm(
    stratus_fault_environment *environment, stratus_fault_point point, stratus_fault_effect effect,
    uint64_t occurrence, uint64_t repetitions) {
    environment->environment.plan.arm(point, effect, occurrence, repetitions);
}

void stratus_fault_environment_limit_disk(stratus_fault_environment *environment, uint64_t byte_count) {
    environment->environment.plan.limit_disk(byte_count);
}

void stratus_fault_environment_slow_syncs(stratus_fault_environment *environment, uint64_t microseconds) {
    environment->environment.plan.slow_syncs(microseconds);
}

void stratus_fault_environment_disarm(stratus_fault_environment *environment) {
    environment->environment.plan.disarm();
}

void stratus_fault_environment_observe_syncs(
    stratus_fault_environment *environment, stratus_fault_sync_observer observer, void *context) {
    environment->environment.plan.observe_syncs(observer, context);
}

uint64_t stratus_fault_environment_count(const stratus_fault_environment *environment, stratus_fault_point point) {
    return environment->environment.plan.count(point);
}

uint64_t stratus_fault_environment_fault_count(const stratus_fault_environment *environment) {
    return environment->environment.plan.fault_count();
}

uint64_t stratus_fault_environment_appended_byte_count(const stratus_fault_environment *environment) {
    return environment->environment.plan.appended_byte_count();
}

void stratus_fault_environment_wait_until_idle(stratus_fault_environment *environment) {
    environment->environment.wait_until_idle();
}
