// An executor: the job's own program, started by a worker to run its tasks. It lives as long as its worker's socket.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/executor/run_task.hpp"

namespace weft::runtime {

/// How a worker starts a job program as an executor: the environment variables for its role and for the descriptor of the socket.
inline constexpr const char* kRoleVariable = "WEFT_ROLE";
inline constexpr const char* kExecutorFdVariable = "WEFT_EXECUTOR_FD";
inline constexpr const char* kDataLimitVariable = "WEFT_DATA_LIMIT";  // bytes of private memory; 0: none
inline constexpr int kExecutorFd = 3;
/// Exit status of an executor that cannot go on, for example since its connection broke. The last line of its log says why.
inline constexpr int kExecutorGaveUp = 86;  // not one that user code is likely to end with

/// When this process was started as an executor: runs tasks until the worker closes the socket, then ends the process. Returns
/// the exit code when it could not start, and nullopt in other roles. `program` is called once.
std::optional<int> run_if_executor(const std::function<std::unique_ptr<JobProgram>()>& program);

}  // namespace weft::runtime
