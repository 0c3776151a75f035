// The environment, its logs and its C API.
//
// Pinned to LevelDB 1.23: the virtual functions overridden here, and the layout of the C API's `leveldb_env_t`, which
// its header does not show. It is `struct leveldb_env_t { Env *rep; bool is_default; };`, and `leveldb_options_set_env`
// reads `rep`.

#include <leveldb/c.h>
#include <leveldb/db.h>
#include <leveldb/env.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "LogSyncer.h"
#include "include/CLogSync.h"

namespace stratus {
namespace {

using leveldb::Status;

/// The layout of `leveldb_env_t` in LevelDB 1.23.
struct PinnedEnvironment {
    leveldb::Env *rep;
    bool is_default;
};
static_assert(offsetof(PinnedEnvironment, rep) == 0, "LevelDB reads the environment at the beginning.");

/// A log. Its calls wait for a running sync.
class SyncedLog final : public leveldb::WritableFile {
public:
    SyncedLog(
        leveldb::WritableFile *file, uint64_t number, LogSyncer &syncer, std::atomic<uint64_t> &written_log,
        size_t least_byte_count)
        : file_(file), number_(number), syncer_(syncer), written_log_(written_log), least_byte_count_(least_byte_count) {}

    ~SyncedLog() override { syncer_.wait(); }

    Status Append(const leveldb::Slice &data) override {
        syncer_.wait();
        unsynced_byte_count_ += data.size();
        written_log_ = number_;
        return file_->Append(data);
    }

    Status Close() override {
        syncer_.wait();
        return file_->Close();
    }

    Status Flush() override {
        syncer_.wait();
        return file_->Flush();
    }

    Status Sync() override {
        const size_t byte_count = unsynced_byte_count_;
        unsynced_byte_count_ = 0;
        if (byte_count < least_byte_count_) {
            syncer_.wait();
            return file_->Sync();
        }
        return syncer_.begin(file_.get());
    }

private:
    const std::unique_ptr<leveldb::WritableFile> file_;
    const uint64_t number_;
    LogSyncer &syncer_;
    std::atomic<uint64_t> &written_log_;
    const size_t least_byte_count_;
    size_t unsynced_byte_count_ = 0;
};

class LogEnvironment final : public leveldb::EnvWrapper {
public:
    LogEnvironment(leveldb::Env *target, size_t least_byte_count)
        : EnvWrapper(target), least_byte_count_(least_byte_count) {}

    Status NewWritableFile(const std::string &name, leveldb::WritableFile **result) override {
        return wrap(name, target()->NewWritableFile(name, result), result);
    }

    Status NewAppendableFile(const std::string &name, leveldb::WritableFile **result) override {
        return wrap(name, target()->NewAppendableFile(name, result), result);
    }

    Status RenameFile(const std::string &source, const std::string &destination) override {
        const Status status = target()->RenameFile(source, destination);
        // When CURRENT has been replaced, this must not fail: LevelDB would remove the manifest that it names.
        if (status.ok() && name_of(destination) == "CURRENT") {
            is_current_unsynced_ = !sync_directory_of(destination).ok();
        }
        return status;
    }

    /// Removes no file that the CURRENT on disk may still name.
    Status RemoveFile(const std::string &name) override {
        if (is_current_unsynced_) {
            const Status status = sync_directory_of(name);
            if (!status.ok()) return status;
            is_current_unsynced_ = false;
        }
        return target()->RemoveFile(name);
    }

    LogSyncer syncer;
    std::atomic<uint64_t> written_log{0};

private:
    Status wrap(const std::string &name, Status status, leveldb::WritableFile **result) {
        const uint64_t number = log_number(name_of(name));
        if (status.ok() && number != 0) {
            *result = new SyncedLog(*result, number, syncer, written_log, least_byte_count_);
        }
        return status;
    }

    static std::string name_of(const std::string &path) { return path.substr(path.rfind('/') + 1); }

    /// The number in "<number>.log", 0 for any other name. LevelDB itself waits for the syncs of tables and manifests.
    static uint64_t log_number(const std::string &name) {
        char *end = nullptr;
        const uint64_t number = std::strtoull(name.c_str(), &end, 10);
        return std::strcmp(end, ".log") == 0 ? number : 0;
    }

    static Status sync_directory_of(const std::string &path) {
        const std::string directory = path.substr(0, path.rfind('/') + 1);
        const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (descriptor < 0) return Status::IOError(path, std::strerror(errno));
        const bool is_synced = ::fsync(descriptor) == 0;
        const int number = errno;
        ::close(descriptor);
        return is_synced ? Status::OK() : Status::IOError(path, std::strerror(number));
    }

    const size_t least_byte_count_;
    std::atomic<bool> is_current_unsynced_{false};
};

}  // namespace
}  // namespace stratus

struct stratus_log_environment {
    stratus_log_environment(leveldb::Env *target, size_t least_byte_count) : environment(target, least_byte_count) {}

    stratus::LogEnvironment environment;
    stratus::PinnedEnvironment pinned{&environment, false};
};

bool stratus_log_environment_supports(int major_version, int minor_version) {
    // The code is compiled against the installed headers, and repeats the layout of 1.23.
    const bool is_compiled_for = leveldb::kMajorVersion == 1 && leveldb::kMinorVersion == 23;
    return is_compiled_for && major_version == 1 && minor_version == 23;
}

stratus_log_environment *stratus_log_environment_create(leveldb_env_t *base, size_t least_byte_count) {
    if (!stratus_log_environment_supports(leveldb_major_version(), leveldb_minor_version())) return nullptr;
    leveldb::Env *const target =
        base ? reinterpret_cast<stratus::PinnedEnvironment *>(base)->rep : leveldb::Env::Default();
    return new stratus_log_environment(target, least_byte_count);
}

void stratus_log_environment_destroy(stratus_log_environment *environment) {
    delete environment;
}

leveldb_env_t *stratus_log_environment_pointer(stratus_log_environment *environment) {
    return reinterpret_cast<leveldb_env_t *>(&environment->pinned);
}

void stratus_log_environment_finish_sync(stratus_log_environment *environment, char **error) {
    const leveldb::Status status = environment->environment.syncer.finish();
    if (status.ok() || *error != nullptr) return;
    *error = strdup(status.ToString().c_str());
    // Without a text the caller would treat a lost write as durable.
    if (*error == nullptr) std::abort();
}

uint64_t stratus_log_environment_written_log(const stratus_log_environment *environment) {
    return environment->environment.written_log;
}
