// What is in the _SUCCESS of an output. That of a job that may go on with another driver names the job, so that the next driver
// knows what was published before it. (S3A's committers of Hadoop write the job's id there, too; readers skip the file.)
#pragma once

#include <string>

#include "base/result.hpp"
#include "storage/access/remote.hpp"

namespace weft::storage {

inline constexpr const char* kSuccess = "_SUCCESS";  // in what a run wrote, and in nothing else

/// Makes the file, durable with the directory it is in. already_exists when it is there.
Result<void> write_mark(const std::string& directory, const std::string& mark);
Result<void> write_mark(RemoteFiles& files, const std::string& directory, const std::string& mark);

/// Whether the output in the directory is complete and has this mark, which is not empty.
bool has_mark(const std::string& directory, const std::string& mark);
Result<bool> has_mark(RemoteFiles& files, const std::string& directory, const std::string& mark);

}  // namespace weft::storage
