/* LevelDB's three kinds of file, each around one of the default environment, asking the plan before every request. */
#ifndef FAULTFILES_H
#define FAULTFILES_H

#include <leveldb/env.h>

#include <memory>
#include <string>

#include "FaultPlan.h"

namespace stratus {

/// A file to write. Syncs go to the operating system only, not to the disk.
class FaultyWritableFile final : public leveldb::WritableFile {
public:
    FaultyWritableFile(std::string name, leveldb::WritableFile *file, FaultPlan &plan, leveldb::Env &clock);

    leveldb::Status Append(const leveldb::Slice &data) override;
    leveldb::Status Close() override;
    leveldb::Status Flush() override;
    leveldb::Status Sync() override;

private:
    leveldb::Status lose_unsynced_bytes();

    const std::string name_;
    const std::unique_ptr<leveldb::WritableFile> file_;
    FaultPlan &plan_;
    leveldb::Env &clock_;
    uint64_t byte_count_ = 0;
    uint64_t synced_byte_count_ = 0;
};

/// A file to read in order.
class FaultySequentialFile final : public leveldb::SequentialFile {
public:
    FaultySequentialFile(std::string name, leveldb::SequentialFile *file, FaultPlan &plan);

    leveldb::Status Read(size_t count, leveldb::Slice *result, char *scratch) override;
    leveldb::Status Skip(uint64_t count) override;

private:
    const std::string name_;
    const std::unique_ptr<leveldb::SequentialFile> file_;
    FaultPlan &plan_;
};

/// A file to read anywhere.
class FaultyRandomAccessFile final : public leveldb::RandomAccessFile {
public:
    FaultyRandomAccessFile(std::string name, leveldb::RandomAccessFile *file, FaultPlan &plan);

    leveldb::Status Read(uint64_t offset, size_t count, leveldb::Slice *result, char *scratch) const override;

private:
    const std::string name_;
    const std::unique_ptr<leveldb::RandomAccessFile> file_;
    FaultPlan &plan_;
};

}  // namespace stratus

#endif
