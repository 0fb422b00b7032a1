#include "runtime/devices/kernel_run.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "runtime/operators/fault.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kLeastBatchBytes = 64u << 10, kMostRecords = 1u << 20;
constexpr std::size_t kTextBytes = 16;     // of a text, on average, for which there are starts
constexpr std::size_t kItemsOfGroup = 64;  // where each record is a work item
constexpr Duration kShortestNap = 20us, kLongestNap = 1ms;
constexpr Duration kGrace = 1s;  // for a batch whose outputs nobody wants any more: less than workers give a task that is to stop

std::size_t rounded_up(std::size_t number, std::size_t to) { return (number + to - 1) / to * to; }

}  // namespace

std::unique_ptr<KernelRun> KernelRun::open(const KernelCode& code, OperatorContext& context) {
  DeviceSession* session = value_or_throw(DeviceSession::of_process());
  if (session == nullptr) return nullptr;
  std::unique_ptr<KernelRun> made(new KernelRun(code, context, *session));
  if (made->allocate()) return made;
  Log("kernel").warn(
      "kernel '{}': device {}, or the task's part of --memory, is too small for a batch; the operator's own "
      "function runs instead",
      code.name, session->name());
  return nullptr;
}

KernelRun::~KernelRun() {
  bool all_ended = true;
  for (Slot& slot : slots_) all_ended = (!slot.in_flight || ended(slot, kGrace, false)) && all_ended;
  if (all_ended)
    release_all();
  else
    abandon();
  if (context_.memory != nullptr) context_.memory->give_back(taken_);
}

/// The device still uses the buffers: where the process does not end, they stay.
void KernelRun::abandon() {
  abandon_device(fmt::format("kernel '{}' on device {} did not end when its task was stopped", code_.name, session_.name()));
  static std::mutex mutex;
  static auto& abandoned = *new std::vector<std::array<Slot, 2>>;
  const std::lock_guard lock(mutex);
  abandoned.push_back(std::move(slots_));
}

void KernelRun::check(cl::Int error, const char* what) const {
  if (error != cl::kSuccess)
    device_fault(fmt::format("kernel '{}' on device {}: {}: {}", code_.name, session_.name(), what, cl::error_name(error)));
}

void KernelRun::set_sizes(std::size_t bytes) {
  const std::size_t widest = std::max({code_.in_bytes, code_.out_bytes, std::size_t{1}});
  const std::size_t fit = std::clamp<std::size_t>(bytes / (texts() ? kTextBytes : widest), 1, kMostRecords);
  most_records_ = static_cast<std::uint32_t>(code_.records == 0 ? fit : std::min<std::size_t>(fit, code_.records));
  in_capacity_ = texts() ? bytes : most_records_ * code_.in_bytes;
  out_capacity_ = texts() ? bytes : most_records_ * code_.out_bytes;
}

bool KernelRun::allocate() {
  for (std::size_t bytes = kBatchBytes; bytes >= kLeastBatchBytes; bytes /= 2)
    if (allocate(bytes)) return true;
  return false;
}

bool KernelRun::allocate(std::size_t bytes) {
  set_sizes(bytes);
  const std::size_t needed = 2 * (in_capacity_ + out_capacity_ + starts() * sizeof(std::uint32_t));
  if (context_.memory != nullptr && !context_.memory->try_take(needed)) return false;
  taken_ = needed;
  const cl::Int error = make_slots();
  if (error == cl::kSuccess) return true;
  release_all();
  if (context_.memory != nullptr) context_.memory->give_back(std::exchange(taken_, 0));
  if (!cl::is_want_of_memory(error)) check(error, "no buffers");
  return false;
}

cl::Int KernelRun::make_slots() {
  for (Slot& slot : slots_)
    if (const cl::Int error = make_slot(slot)) return error;
  if (const cl::Int error = copy_values()) return error;
  for (Slot& slot : slots_) {
    slot.kernel = value_or_throw(session_.make_kernel(code_));
    set_values(slot);
  }
  return cl::kSuccess;
}

/// Drivers give memory at the first use, so that each buffer is used at once.
cl::Int KernelRun::make_buffer(Slot& slot, cl::Memory& memory, std::size_t bytes, const void* contents, cl::Bits use) {
  cl::Int error = cl::kSuccess;
  memory = f_.clCreateBuffer(session_.context(), use, std::max<std::size_t>(bytes, 1), nullptr, &error);
  if (error != cl::kSuccess || bytes == 0) return error;
  return f_.clEnqueueWriteBuffer(slot.queue, memory, 1, 0, contents == nullptr ? 1 : bytes, contents == nullptr ? "" : contents, 0,
                                 nullptr, nullptr);
}

cl::Int KernelRun::make_slot(Slot& slot) {
  slot.queue = value_or_throw(session_.make_queue());
  slot.in = std::make_unique_for_overwrite<std::byte[]>(in_capacity_);
  slot.out = std::make_unique_for_overwrite<std::byte[]>(out_capacity_);
  slot.starts = std::make_unique_for_overwrite<std::uint32_t[]>(starts());
  if (texts()) slot.starts[0] = 0;
  if (const cl::Int error = make_buffer(slot, slot.device_in, in_capacity_, nullptr, cl::kReadOnly)) return error;
  if (const cl::Int error = make_buffer(slot, slot.device_out, out_capacity_, nullptr, cl::kReadWrite)) return error;
  if (!texts()) return cl::kSuccess;
  return make_buffer(slot, slot.device_starts, starts() * sizeof(std::uint32_t), nullptr, cl::kReadOnly);
}

/// Both slots read the same copies.
cl::Int KernelRun::copy_values() {
  for (const KernelValue& value : code_.values) {
    values_.push_back(nullptr);
    if (!value.buffer) continue;
    const cl::Int error = make_buffer(slots_[0], values_.back(), value.bytes.size(), value.bytes.data(), cl::kReadOnly);
    if (error != cl::kSuccess) return error;
  }
  return cl::kSuccess;
}

void KernelRun::set_values(Slot& slot) {
  const cl::Uint own = texts() ? 4 : 3;
  cl::Uint wanted = 0;
  check(f_.clGetKernelInfo(slot.kernel, cl::kKernelArguments, sizeof wanted, &wanted, nullptr), "no kernel");
  if (wanted != own + code_.values.size())
    throw std::invalid_argument(
        fmt::format("kernel '{}' ({}:{}) has {} parameters: it needs {} ({}{})", code_.name, code_.file, code_.line, wanted,
                    own + code_.values.size(), texts() ? "in, starts, out, records" : "in, out, records",
                    code_.values.empty() ? "" : fmt::format(", and {} that with() gives it", code_.values.size())));
  cl::Uint next = 0;
  const auto set = [&](std::size_t size, const void* value) {
    const cl::Int error = f_.clSetKernelArg(slot.kernel, next++, size, value);
    if (error != cl::kSuccess)
      throw std::invalid_argument(fmt::format("kernel '{}' ({}:{}): parameter {} has another type than what it is given ({})",
                                              code_.name, code_.file, code_.line, next, cl::error_name(error)));
  };
  set(sizeof slot.device_in, &slot.device_in);
  if (texts()) set(sizeof slot.device_starts, &slot.device_starts);
  set(sizeof slot.device_out, &slot.device_out);
  set(sizeof slot.records, &slot.records);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (code_.values[i].buffer)
      set(sizeof values_[i], &values_[i]);
    else
      set(code_.values[i].bytes.size(), code_.values[i].bytes.data());
  }
}

void KernelRun::release(Slot& slot) {
  for (cl::Memory* memory : {&slot.device_in, &slot.device_out, &slot.device_starts})
    if (cl::Memory gone = std::exchange(*memory, nullptr)) f_.clReleaseMemObject(gone);
  if (cl::KernelId gone = std::exchange(slot.kernel, nullptr)) f_.clReleaseKernel(gone);
  if (cl::Queue gone = std::exchange(slot.queue, nullptr)) f_.clReleaseCommandQueue(gone);
}

void KernelRun::release_all() {
  for (Slot& slot : slots_) release(slot);
  for (cl::Memory value : std::exchange(values_, {}))
    if (value != nullptr) f_.clReleaseMemObject(value);
}

std::byte* KernelRun::place(std::size_t bytes) {
  Slot& slot = slots_[filled_];
  if (slot.records == most_records_ || bytes > in_capacity_ - slot.used) return nullptr;
  std::byte* at = slot.in.get() + slot.used;
  slot.used += bytes;
  ++slot.records;
  if (texts()) slot.starts[slot.records] = static_cast<std::uint32_t>(slot.used);
  return at;
}

cl::Int KernelRun::send(Slot& slot) {
  const std::size_t out = texts() ? slot.used : slot.records * code_.out_bytes;
  const std::size_t group = code_.group == 0 ? kItemsOfGroup : code_.group;
  const std::size_t items = code_.group == 0 ? rounded_up(slot.records, kItemsOfGroup) : slot.records * group;
  cl::Int error = f_.clSetKernelArg(slot.kernel, texts() ? 3 : 2, sizeof slot.records, &slot.records);
  if (error == cl::kSuccess && slot.used > 0)  // of texts that are all empty there is nothing to bring, and OpenCL 1 refuses that
    error = f_.clEnqueueWriteBuffer(slot.queue, slot.device_in, 0, 0, slot.used, slot.in.get(), 0, nullptr, nullptr);
  if (error == cl::kSuccess && texts())
    error = f_.clEnqueueWriteBuffer(slot.queue, slot.device_starts, 0, 0, (slot.records + 1) * sizeof(std::uint32_t),
                                    slot.starts.get(), 0, nullptr, nullptr);
  if (error == cl::kSuccess)
    error =
        f_.clEnqueueNDRangeKernel(slot.queue, slot.kernel, 1, nullptr, &items, &group, 0, nullptr, out > 0 ? nullptr : &slot.done);
  if (error == cl::kSuccess && out > 0)
    error = f_.clEnqueueReadBuffer(slot.queue, slot.device_out, 0, 0, out, slot.out.get(), 0, nullptr, &slot.done);
  if (error == cl::kSuccess) error = f_.clFlush(slot.queue);
  return error;
}

void KernelRun::send_or_give_up(Slot& slot) {
  const cl::Int error = send(slot);
  if (error == cl::kSuccess) return;
  if (!cl::is_want_of_memory(error)) check(error, "it was refused");
  f_.clFinish(slot.queue);  // of the commands that were not refused
  all_on_host_ = true;
  Log("kernel").warn("device {} has no memory for a batch of kernel '{}': the operator's own function runs instead",
                     session_.name(), code_.name);
}

const KernelBatch* KernelRun::start() {
  Slot& next = slots_[filled_];
  if (next.records > 0) {
    if (!all_on_host_) send_or_give_up(next);
    next.failed = all_on_host_;
    next.in_flight = true;
  }
  filled_ = 1 - filled_;
  Slot& before = slots_[filled_];
  if (!before.in_flight) return nullptr;
  wait(before);
  given_ = {before.records, before.in.get(), before.out.get(), before.starts.get(), before.failed};
  before.records = 0;
  before.used = 0;
  return &given_;
}

/// Polls: a wait inside the driver could be neither stopped nor limited.
bool KernelRun::ended(Slot& slot, Duration limit, bool wanted) {
  if (slot.failed || slot.done == nullptr) return true;
  Duration nap = kShortestNap;
  const TimePoint began = SystemClock().now();
  for (;;) {
    cl::Int status = 1;
    const cl::Int error = f_.clGetEventInfo(slot.done, cl::kEventStatus, sizeof status, &status, nullptr);
    if (wanted) check(error, "its state");
    if (status <= 0 || error != cl::kSuccess) {
      f_.clReleaseEvent(std::exchange(slot.done, nullptr));
      if (cl::is_want_of_memory(status)) slot.failed = true;
      if (status < 0 && !slot.failed && wanted) check(status, "it failed");
      return true;
    }
    if (wanted && context_.stop != nullptr && context_.stop->load(std::memory_order_relaxed)) return false;
    if (SystemClock().now() - began > limit) return false;
    std::this_thread::sleep_for(nap);
    nap = std::min<Duration>(nap * 2, kLongestNap);
  }
}

void KernelRun::wait(Slot& slot) {
  if (!ended(slot, code_.limit, true)) {
    if (context_.stop != nullptr && context_.stop->load(std::memory_order_relaxed)) throw TaskCancelled{};
    device_fault(fmt::format("kernel '{}' ({}:{}) on device {} did not end within {}", code_.name, code_.file, code_.line,
                             session_.name(), format_duration(code_.limit)));
  }
  slot.in_flight = false;
}

}  // namespace weft::runtime
