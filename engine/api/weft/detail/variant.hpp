// Operators with a second function for nodes that have an attribute: an accelerator, or instructions that others lack.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "base/codec.hpp"
#include "base/hash.hpp"
#include "base/lean/algorithm.hpp"
#include "runtime/executor/task.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/graph.hpp"

namespace weft::detail {

/// The operator's function can be replaced by a G that makes records of the same type. They have a codec, so that they can be
/// compared.
template <class G, class Chain>
concept OtherFunction = Encodable<typename Chain::Record> && requires(const Chain& chain, G other) {
  requires std::is_same_v<typename Chain::Record, typename decltype(with_function(chain, std::move(other)))::Record>;
};

/// Records in their order: how many there were, and a hash of their encoding.
class RecordDigest {
 public:
  template <class T>
  void add(const T& record) {
    encoded_.clear();
    encode(record, encoded_);
    hash_ = hash_combine(hash_, hash64(encoded_.view()));
    ++records_;
  }
  friend bool operator==(const RecordDigest& a, const RecordDigest& b) { return a.hash_ == b.hash_ && a.records_ == b.records_; }

 private:
  Encoder encoded_;
  std::uint64_t hash_ = 0, records_ = 0;
};

/// An operator with two functions: tasks whose TaskContext::variants has the attribute run `other`. With `check` every task runs
/// both, and fails unless they give the same records in the same order.
template <class Regular, class Other>
struct Variant {
  using Record = typename Regular::Record;
  static constexpr bool kKeyed = keyed<Regular>();
  Regular regular;
  Other other;
  std::string attribute;
  bool check;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const bool chosen = std::find(context.variants.begin(), context.variants.end(), attribute) != context.variants.end();
    if (check) {
      if (chosen) return compare(context, sink, regular, other);
      return compare(context, sink, other, regular);
    }
    if (chosen) {
      other.run(context, sink);
    } else {
      regular.run(context, sink);
    }
  }

 private:
  template <class Sink, class LeftOut, class Chosen>
  void compare(TaskContext& context, Sink&& sink, const LeftOut& left_out, const Chosen& chosen) const {
    RecordDigest expected, given;
    left_out.run(context, [&](Record&& record) { expected.add(record); });
    chosen.run(context, [&](Record&& record) {
      given.add(record);
      sink(std::move(record));
    });
    if (!(expected == given))
      throw std::runtime_error("the function for nodes with '" + attribute + "' gives other records than the operator's own");
  }
};

template <class D, class G>
auto with_variant(const D& in, const std::string& attribute, G other, std::string name) {
  auto replaced = with_function(in.chain(), std::move(other));
  using Node = Variant<typename D::ChainType, decltype(replaced)>;
  Lineage lineage = in.lineage().then_same_keys(std::move(name), type_name<Node>());
  lineage.hints.take_larger(variant_hint(attribute));
  return Dataset<typename D::Record, Node>(in.graph(), std::move(lineage),
                                           Node{in.chain(), std::move(replaced), attribute, in.graph()->check_variants()});
}

}  // namespace weft::detail
