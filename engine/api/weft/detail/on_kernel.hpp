// Operators with a kernel: records go to the device in batches.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/codec.hpp"
#include "runtime/devices/kernel_run.hpp"
#include "runtime/executor/task.hpp"
#include "weft/dataset.hpp"
#include "weft/detail/call.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/graph.hpp"
#include "weft/detail/kernel_class.hpp"
#include "weft/detail/sources.hpp"
#include "weft/detail/variant.hpp"

namespace weft::detail {

struct SameNumber {
  std::uint64_t operator()(std::uint64_t number) const { return number; }
};

// What an operator takes, and what it makes of that.
template <class Chain, class F>
const Chain& input_of(const Map<Chain, F>& node) {
  return node.input;
}
template <class F>
GenerateSource<SameNumber> input_of(const GenerateSource<F>&) {
  return {};
}
template <class Regular, class Other>
auto input_of(const Variant<Regular, Other>& node) {
  return input_of(node.regular);
}
template <class Chain, class F>
const F& function_of(const Map<Chain, F>& node) {
  return node.function;
}
template <class F>
const F& function_of(const GenerateSource<F>& node) {
  return node.function;
}
template <class Regular, class Other>
const auto& function_of(const Variant<Regular, Other>& node) {
  return function_of(node.regular);
}

template <class T>
inline constexpr bool kText = std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;
template <class T>
inline constexpr bool kFixed =
    std::is_trivially_copyable_v<T>&& std::is_default_constructible_v<T> && !std::is_pointer_v<T> && !kText<T>;

template <class Chain>
concept KernelOperator = Encodable<typename Chain::Record> && requires(const Chain& chain) {
  typename std::remove_cvref_t<decltype(input_of(chain))>::Record;
  function_of(chain);
  requires(kFixed<typename std::remove_cvref_t<decltype(input_of(chain))>::Record> && kFixed<typename Chain::Record>) ||
      (kText<typename std::remove_cvref_t<decltype(input_of(chain))>::Record> &&
       std::is_same_v<typename Chain::Record, std::string>);
};

std::shared_ptr<const runtime::KernelCode> code_of(const Kernel& kernel, std::size_t in_bytes, std::size_t out_bytes);
/// A record of a batch is not what the function gives.
[[noreturn]] void refuse_kernel(const runtime::KernelCode& code, std::uint32_t record);

/// `regular` is the operator as it is without a device: `function` of what `input` gives. With `check` some records of each batch
/// are computed by both, and the task fails unless they are the same.
template <class Regular, class Input, class F>
struct OnKernel {
  using Record = typename Regular::Record;
  using In = typename Input::Record;
  Regular regular;
  Input input;
  F function;
  std::shared_ptr<const runtime::KernelCode> code;
  bool check;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const auto batches = runtime::KernelRun::open(*code, context.operators);
    if (!batches) return regular.run(context, sink);
    input.run(context, [&](In&& record) {
      const std::string_view bytes = bytes_of(record);
      std::byte* place = batches->place(bytes.size());
      if (place == nullptr) [[unlikely]] {
        give(batches->start(), sink);
        place = batches->place(bytes.size());
      }
      if (place == nullptr) [[unlikely]] {  // longer than a batch can be
        give(batches->start(), sink);
        return sink(host(bytes));
      }
      std::memcpy(place, bytes.data(), bytes.size());
    });
    give(batches->start(), sink);
    give(batches->start(), sink);
  }

 private:
  static constexpr std::uint32_t kFirstChecked = 16, kEachChecked = 64;

  static std::string_view bytes_of(const In& record) {
    if constexpr (kText<In>)
      return record;
    else
      return {reinterpret_cast<const char*>(&record), sizeof record};
  }
  Record host(std::string_view bytes) const {
    if constexpr (kText<In>) {
      return Record(call(function, In(bytes)));
    } else {
      In record;
      std::memcpy(&record, bytes.data(), sizeof record);
      return Record(call(function, std::move(record)));
    }
  }
  static Record from_device(std::string_view bytes) {
    if constexpr (kText<In>) {
      return Record(bytes);
    } else {
      Record record;
      std::memcpy(&record, bytes.data(), sizeof record);
      return record;
    }
  }
  static std::string_view part(const std::byte* of, const runtime::KernelBatch& batch, std::uint32_t record, std::size_t bytes) {
    const auto* const text = reinterpret_cast<const char*>(of);
    if constexpr (kText<In>)
      return {text + batch.starts[record], batch.starts[record + 1] - batch.starts[record]};
    else
      return {text + record * bytes, bytes};
  }

  template <class Sink>
  void give(const runtime::KernelBatch* batch, Sink&& sink) const {
    if (batch == nullptr) return;
    for (std::uint32_t i = 0; i < batch->records; ++i) {
      const std::string_view in = part(batch->in, *batch, i, sizeof(In));
      if (batch->on_host) {
        sink(host(in));
        continue;
      }
      Record record = from_device(part(batch->out, *batch, i, sizeof(Record)));
      if (check && (i < kFirstChecked || i % kEachChecked == 0)) compare(record, host(in), i);
      sink(std::move(record));
    }
  }

  void compare(const Record& given, const Record& expected, std::uint32_t number) const {
    RecordDigest one, other;
    one.add(given);
    other.add(expected);
    if (!(one == other)) refuse_kernel(*code, number);
  }
};

template <class Chain>
constexpr bool check_on_kernel() {
  constexpr bool kSame = KernelOperator<Chain>;
  static_assert(
      kSame,
      "weft on: a kernel stands directly behind generate or map, or behind an on of these; records and results are of fixed "
      "size (trivially copyable, without pointers), or texts in and std::string out");
  return kSame;
}

template <class D>
auto with_kernel(const D& in, const Kernel& kernel, std::string name) {
  using Chain = typename D::ChainType;
  using Input = std::remove_cvref_t<decltype(input_of(in.chain()))>;
  using F = std::remove_cvref_t<decltype(function_of(in.chain()))>;
  using Node = OnKernel<Chain, Input, F>;
  constexpr bool kTexts = kText<typename Input::Record>;
  Lineage lineage = in.lineage().then_same_keys(std::move(name), type_name<Node>());
  lineage.hints.take_larger(variant_hint("accelerator"));
  return Dataset<typename D::Record, Node>(
      in.graph(), std::move(lineage),
      Node{in.chain(), input_of(in.chain()), function_of(in.chain()),
           code_of(kernel, kTexts ? 0 : sizeof(typename Input::Record), kTexts ? 0 : sizeof(typename D::Record)),
           in.graph()->check_variants()});
}

}  // namespace weft::detail

namespace weft {

/// Dataset::on(), found by its arguments.
template <class D>
auto on_kernel(const D& in, const Kernel& kernel, const Kernel::Where& where) {
  if constexpr (detail::check_on_kernel<typename D::ChainType>()) {
    return detail::with_kernel(in, kernel, detail::operator_name("on kernel " + kernel.name(), where));
  } else {
    return in;
  }
}

}  // namespace weft
