// The joins of datasets of pairs.
#pragma once

#include <source_location>
#include <utility>

#include "weft/concepts.hpp"
#include "weft/detail/checks.hpp"
#include "weft/detail/group.hpp"
#include "weft/detail/join.hpp"
#include "weft/joined.hpp"
#include "weft/partitioning.hpp"

namespace weft {

/// A base of Dataset<T, Chain>. Both sides are pairs with keys of one type. The last argument, optional, is the same for all joins:
/// a number of partitions, partition_by(…), a JoinStrategy, or JoinHow{strategy, partitions}. A broadcast join cannot be a right or
/// full one (std::invalid_argument).
template <class T, class Chain>
class JoinOperators {
  using Where = std::source_location;

 public:
  /// pair<K, Joined<L, R>> for every two records with the same key.
  template <class R, class Other, class How = HashPartitions>
  auto join(const Dataset<R, Other>& right, How how = {}, Where where = Where::current()) const {
    return joined<detail::InnerShape>("join", right, JoinKind::inner, how, where);
  }
  /// pair<K, Joined<L, optional<R>>>: every left record, with its partners or none.
  template <class R, class Other, class How = HashPartitions>
  auto left_join(const Dataset<R, Other>& right, How how = {}, Where where = Where::current()) const {
    return joined<detail::LeftShape>("left_join", right, JoinKind::left, how, where);
  }
  /// pair<K, Joined<optional<L>, R>>
  template <class R, class Other, class How = HashPartitions>
  auto right_join(const Dataset<R, Other>& right, How how = {}, Where where = Where::current()) const {
    return joined<detail::RightShape>("right_join", right, JoinKind::right, how, where);
  }
  /// pair<K, Joined<optional<L>, optional<R>>>
  template <class R, class Other, class How = HashPartitions>
  auto full_join(const Dataset<R, Other>& right, How how = {}, Where where = Where::current()) const {
    return joined<detail::OptionalShape>("full_join", right, JoinKind::full, how, where);
  }
  /// The left records that have a partner, once each.
  template <class R, class Other, class How = HashPartitions>
  auto semi_join(const Dataset<R, Other>& right, How how = {}, Where where = Where::current()) const {
    return joined<detail::LeftOnlyShape>("semi_join", right, JoinKind::semi, how, where);
  }
  /// The left records that have none.
  template <class R, class Other, class How = HashPartitions>
  auto anti_join(const Dataset<R, Other>& right, How how = {}, Where where = Where::current()) const {
    return joined<detail::LeftOnlyShape>("anti_join", right, JoinKind::anti, how, where);
  }
  /// pair<K, Joined<optional<L>, optional<R>>> for a kind that is known only at run time.
  template <class R, class Other, class How = HashPartitions>
  auto join_optional(const Dataset<R, Other>& right, JoinKind kind, How how = {}, Where where = Where::current()) const {
    return joined<detail::OptionalShape>("join", right, kind, how, where);
  }

  /// pair<K, pair<Values<L>, Values<R>>> for every key of either side. Not for a JoinStrategy: both sides are partitioned.
  template <class R, class Other, class P = HashPartitions>
  auto cogroup(const Dataset<R, Other>& right, P how = {}, Where where = Where::current()) const {
    if constexpr (detail::check_join<T, R, Partitioning<P, KeyOrSelf<T>>>()) {
      detail::check_partitioning_captures(*self().graph(), how, where);
      return detail::cogroup(self(), right, detail::partitioning(how), detail::operator_name("cogroup", where));
    } else {
      return detail::Refused();
    }
  }

 private:
  const Dataset<T, Chain>& self() const { return static_cast<const Dataset<T, Chain>&>(*this); }

  template <template <class, class, class> class Shape, class R, class Other, class How>
  auto joined(std::string_view what, const Dataset<R, Other>& right, JoinKind kind, const How& how, const Where& where) const {
    if constexpr (detail::check_join<T, R, detail::kIsJoinHow<KeyOrSelf<T>, How>>()) {
      detail::check_partitioning_captures(*self().graph(), how, where);
      return detail::join_with<Shape>(self(), right, kind, how, detail::operator_name(what, where));
    } else {
      return detail::Refused();
    }
  }
};

}  // namespace weft
