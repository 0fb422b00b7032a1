// What the kinds of joins emit, defined once for either choice of the side that is held in memory.
#pragma once

#include <cstdint>

namespace weft::runtime {

enum class JoinKind : std::uint8_t { inner, left, right, full, semi, anti };

/// The side whose records are held in a table (or sorted first) while the other side's stream by.
enum class BuildSide : std::uint8_t { left, right };

/// "build" is the held side, "probe" the streamed one. A record is lone when the other side has none with its key, else met.
struct JoinRules {
  bool pairs = false;       // every two records with the same key
  bool lone_build = false;  // build records without partner
  bool lone_probe = false;
  bool met_build = false;  // build records with a partner, once each
  bool met_probe = false;

  static constexpr JoinRules of(JoinKind kind, BuildSide build) {
    JoinRules rules;
    rules.pairs = kind != JoinKind::semi && kind != JoinKind::anti;
    const bool lone_left = kind == JoinKind::left || kind == JoinKind::full || kind == JoinKind::anti;
    const bool lone_right = kind == JoinKind::right || kind == JoinKind::full;
    const bool builds_left = build == BuildSide::left;
    rules.lone_build = builds_left ? lone_left : lone_right;
    rules.lone_probe = builds_left ? lone_right : lone_left;
    rules.met_build = builds_left && kind == JoinKind::semi;
    rules.met_probe = !builds_left && kind == JoinKind::semi;
    return rules;
  }

  bool needs_build_values() const { return pairs || lone_build || met_build; }
};

}  // namespace weft::runtime
