// Stable sort of any number of records.
#pragma once

#include <functional>

#include "runtime/operators/record_sorter.hpp"
#include "runtime/operators/sort_prefix.hpp"

namespace weft::runtime {

/// How encoded records of type T compare: by key_of(record) under `less`. Records are decoded for it, views at no cost.
template <class T, class KeyFn, class Less>
class TypedOrder {
 public:
  using Key = std::remove_cvref_t<std::invoke_result_t<KeyFn&, const T&>>;
  using Prefix = OrderPrefix<Key, Less>;
  static constexpr bool kPrefixDecides = Prefix::kDecides;
  /// The comparison is the user's, and may be wrong.
  static constexpr bool kUserDefined =
      !(kAscending<Less, Key> || kDescending<Less, Key>) || !(std::is_arithmetic_v<Key> || TextLike<Key>);

  TypedOrder(KeyFn key_of, Less less) : key_of_(std::move(key_of)), less_(std::move(less)) {}

  std::uint64_t prefix_of(const T& record) {
    if constexpr (Prefix::kKnown) {
      return Prefix::of(std::invoke(key_of_, record));
    } else {
      return 0;
    }
  }
  std::uint64_t prefix(ByteView record) {
    if constexpr (Prefix::kKnown) {
      return prefix_of(read(record));
    } else {
      return 0;
    }
  }
  bool less(ByteView a, ByteView b) {
    const T x = read(a);
    const T y = read(b);
    return static_cast<bool>(std::invoke(less_, std::invoke(key_of_, x), std::invoke(key_of_, y)));
  }
  static T read(ByteView record) {
    Decoder in(record);
    return Codec<T>::decode(in);
  }

 private:
  [[no_unique_address]] KeyFn key_of_;
  [[no_unique_address]] Less less_;
};

/// Sorts by key_of(record) under `less`. With std::less<> or std::greater<> on numbers, texts or pairs/tuples that begin with one,
/// most comparisons are of one word. A comparator that is seen to be no strict weak order is an invalid_argument.
template <Encodable T, class KeyFn = std::identity, class Less = std::less<>>
class ExternalSorter {
 public:
  explicit ExternalSorter(OperatorContext& context, KeyFn key_of = {}, Less less = {})
      : sorter_(context, "sort", TypedOrder<T, KeyFn, Less>(std::move(key_of), std::move(less))) {}

  void add(const T& record) {
    Codec<T>::encode(record, sorter_.begin());
    sorter_.end(sorter_.order().prefix_of(record));
  }

  /// The encoded records of one block. They stay where they are if `owner` (may be null) keeps them alive and the grant has `cost`
  /// bytes for holding it.
  void add_block(ByteView records, const std::shared_ptr<const void>& owner, std::uint64_t cost) {
    const bool borrowed = sorter_.borrow(owner, cost);
    for (Decoder in(records); !in.empty();) {
      const std::byte* begin = in.position();
      const std::uint64_t prefix = sorter_.order().prefix_of(Codec<T>::decode(in));
      const ByteView record(begin, in.position());
      borrowed ? sorter_.add_borrowed(prefix, record) : sorter_.add(prefix, record);
    }
  }

  /// emit(T&&) in order; views in the record are valid during the call. Once, last.
  template <class Emit>
  void drain(Emit&& emit) {
    sorter_.finish();
    while (sorter_.next()) emit(TypedOrder<T, KeyFn, Less>::read(sorter_.record()));
  }

 private:
  RecordSorter<TypedOrder<T, KeyFn, Less>> sorter_;
};

}  // namespace weft::runtime
