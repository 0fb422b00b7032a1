// The records of one task in batches on a device: one batch is filled and its outputs are taken while another one is there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "runtime/devices/device_session.hpp"
#include "runtime/devices/kernel_code.hpp"
#include "runtime/operators/memory.hpp"

namespace weft::runtime {

/// One that has ended. Valid until the next call of place().
struct KernelBatch {
  std::uint32_t records = 0;
  const std::byte* in = nullptr;
  const std::byte* out = nullptr;         // not when `on_host`
  const std::uint32_t* starts = nullptr;  // of texts: record i is [starts[i], starts[i + 1]) in both
  bool on_host = false;                   // the device had no memory for it: the caller computes it
};

/// One thread. Throws TaskCancelled when the task is to stop; a device that fails, or a batch that takes longer than its limit, is
/// a device_fault(). Memory of batches counts in the task's grant.
class KernelRun {
 public:
  /// Null: this process has no device, or neither it nor the task's grant has memory for a batch: the operator's own function runs.
  /// Throws for a kernel that does not compile, and a device that cannot be used.
  static std::unique_ptr<KernelRun> open(const KernelCode& code, OperatorContext& context);
  ~KernelRun();
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  /// Where the next record of that many bytes goes. Null: first start() the batch; when it is empty, no batch can hold the record.
  std::byte* place(std::size_t bytes);
  /// Sends the batch with the records so far to the device. Returns the one that was started before, when it has ended; null: there
  /// is none.
  const KernelBatch* start();

 private:
  /// A batch and its places in the device's memory.
  struct Slot {
    // Not initialized, so that a task with few records touches little of them.
    std::unique_ptr<std::byte[]> in, out;
    std::unique_ptr<std::uint32_t[]> starts;  // of texts
    std::uint32_t records = 0;
    std::size_t used = 0;  // bytes
    cl::Queue queue = nullptr;
    cl::KernelId kernel = nullptr;
    cl::Memory device_in = nullptr, device_out = nullptr, device_starts = nullptr;
    cl::Event done = nullptr;
    bool in_flight = false, failed = false;
  };

  KernelRun(const KernelCode& code, OperatorContext& context, DeviceSession& session)
      : code_(code), context_(context), session_(session), f_(session.functions()) {}
  bool texts() const { return code_.in_bytes == 0; }
  std::size_t starts() const { return texts() ? std::size_t{most_records_} + 1 : 0; }
  /// False: no memory, even for the smallest batch.
  bool allocate();
  /// False: no memory for batches of that size.
  bool allocate(std::size_t bytes);
  void set_sizes(std::size_t bytes);
  cl::Int make_slots();
  cl::Int make_slot(Slot& slot);
  cl::Int make_buffer(Slot& slot, cl::Memory& memory, std::size_t bytes, const void* contents, cl::Bits use);
  cl::Int copy_values();
  void set_values(Slot& slot);
  void release(Slot& slot);
  void release_all();
  /// What the driver answered to the first command that it refused.
  cl::Int send(Slot& slot);
  void send_or_give_up(Slot& slot);
  void wait(Slot& slot);
  /// False: the limit has passed, or the task is to stop. Where its results are not wanted any more, nothing stops or fails it.
  bool ended(Slot& slot, Duration limit, bool wanted);
  void abandon();
  void check(cl::Int error, const char* what) const;

  const KernelCode& code_;
  OperatorContext& context_;
  DeviceSession& session_;
  const cl::Functions& f_;
  std::array<Slot, 2> slots_;
  std::size_t filled_ = 0;  // which one
  std::size_t in_capacity_ = 0, out_capacity_ = 0, taken_ = 0;
  std::uint32_t most_records_ = 0;
  bool all_on_host_ = false;  // since the device refused a batch for want of memory
  std::vector<cl::Memory> values_;
  KernelBatch given_;
};

}  // namespace weft::runtime
