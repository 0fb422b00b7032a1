// Joined<L, R>: the values of the two sides of a join for one key.
#pragma once

#include <compare>
#include <string>
#include <tuple>
#include <utility>

#include "base/codec.hpp"
#include "runtime/operators/natural_order.hpp"
#include "weft/text.hpp"

namespace weft {

/// The value of a joined record: `entry.second.left`, `entry.second.right`, or `auto [left, right] = entry.second`. A function of
/// map, filter and flat_map may take the parts instead: `[](const auto& key, const auto& left, const auto& right)`.
template <class L, class R>
struct Joined {
  L left;
  R right;

  Joined() = default;
  Joined(L l, R r) : left(std::move(l)), right(std::move(r)) {}
  friend bool operator==(const Joined& a, const Joined& b) { return a.left == b.left && a.right == b.right; }
  friend auto operator<=>(const Joined& a, const Joined& b) { return std::tie(a.left, a.right) <=> std::tie(b.left, b.right); }
};

namespace detail {
template <class L, class R>
struct HoldsView<Joined<L, R>> : std::bool_constant<HoldsView<L>::value || HoldsView<R>::value> {};
template <class L, class R>
struct FixedBytes<Joined<L, R>> : FixedParts<L, R> {};
template <class L, class R>
struct FixedForm<Joined<L, R>> {
  static void store(const Joined<L, R>& value, std::byte* at) {
    store_fixed(value.left, at);
    store_fixed(value.right, at + kFixedBytes<L>);
  }
  static Joined<L, R> load(const std::byte* at) { return {load_fixed<L>(at), load_fixed<R>(at + kFixedBytes<L>)}; }
};
}  // namespace detail

/// It is ordered, and its numbers are compared, like a pair.
template <class L, class R>
struct runtime::RecordParts<Joined<L, R>> {
  static auto of(auto& joined) { return std::tie(joined.left, joined.right); }
};

/// As of a pair.
template <Encodable L, Encodable R>
struct Codec<Joined<L, R>> {
  static void encode(const Joined<L, R>& value, Encoder& out) {
    if constexpr (FixedSize<Joined<L, R>>) return store_fixed(value, out.grow(kFixedBytes<Joined<L, R>>));
    Codec<L>::encode(value.left, out);
    Codec<R>::encode(value.right, out);
  }
  static Joined<L, R> decode(Decoder& in) {
    if constexpr (FixedSize<Joined<L, R>>) return load_fixed<Joined<L, R>>(in.take(kFixedBytes<Joined<L, R>>));
    L left = Codec<L>::decode(in);
    return {std::move(left), Codec<R>::decode(in)};
  }
};

template <class L, class R>
struct OwnedType<Joined<L, R>> {
  using type = Joined<Owned<L>, Owned<R>>;
  static type from(Joined<L, R> value) { return {to_owned(std::move(value.left)), to_owned(std::move(value.right))}; }
};

template <LineFormattable L, LineFormattable R>
struct LineFormat<Joined<L, R>> {
  static void append(std::string& line, const Joined<L, R>& value) {
    LineFormat<L>::append(line, value.left);
    line.push_back('\t');
    LineFormat<R>::append(line, value.right);
  }
};

}  // namespace weft
