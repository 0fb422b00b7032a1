// Values for every field of any message, and every field of a message as text: by the declarations of the structs alone.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/fields.hpp"
#include "base/hash.hpp"
#include "base/ids.hpp"
#include "base/text.hpp"

namespace weft::releases {

template <template <class...> class Of, class T>
inline constexpr bool kIs = false;
template <template <class...> class Of, class... T>
inline constexpr bool kIs<Of, Of<T...>> = true;
template <class T>
inline constexpr bool kIsId = false;
template <class Tag, class Rep>
inline constexpr bool kIsId<Id<Tag, Rep>> = true;
template <class T>
inline constexpr bool kIsSharedList = false;
template <class T>
inline constexpr bool kIsSharedList<std::shared_ptr<const std::vector<T>>> = true;

/// Gives every field a value that is neither zero nor empty. Of a variant the alternative `choice`, as far as it has that many, and
/// in a list of variants one of each. The value of a field depends on where it is, not on which others there are.
class Filler {
 public:
  explicit Filler(std::size_t choice) : choice_(choice) {}
  /// How many choices there are for what was filled.
  std::size_t choices() const { return choices_; }

  template <class T>
  void fill(T& value, std::uint64_t at = 1) {
    if constexpr (std::is_same_v<T, bool>) {
      value = true;
    } else if constexpr (std::is_enum_v<T>) {
      value = enumerator<T>(at);
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(at % 1000) + T{0.25};
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(static_cast<std::make_unsigned_t<T>>(at) / 2 + 1);
    } else if constexpr (kIsId<T>) {
      value = T(static_cast<typename T::rep>(static_cast<typename T::rep>(at) / 2 + 1));
    } else if constexpr (std::is_same_v<T, Duration>) {
      value = Duration(static_cast<Duration::rep>(at % 1'000'000'000'000 + 1));
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = fmt::format("text {}", at % 10'000);
    } else if constexpr (std::is_same_v<T, Buffer> || std::is_same_v<T, SharedBytes>) {
      value = T(Buffer::copy_of(as_bytes(fmt::format("bytes {}", at % 10'000))));
    } else if constexpr (kIs<std::optional, T>) {
      fill(value.emplace(), at);
    } else if constexpr (kIsSharedList<T>) {
      std::vector<typename T::element_type::value_type> list;
      fill(list, at);
      value = std::make_shared<typename T::element_type>(std::move(list));
    } else if constexpr (kIs<std::map, T>) {
      typename T::mapped_type mapped{};
      fill(mapped, mix64(at));
      value.emplace(fmt::format("key {}", at % 10'000), std::move(mapped));
    } else if constexpr (kIs<std::vector, T>) {
      list(value, at);
    } else if constexpr (kIs<std::variant, T>) {
      choices_ = std::max(choices_, std::variant_size_v<T>);
      choose(value, std::min(choice_, std::variant_size_v<T> - 1), at);
    } else if constexpr (kIs<std::pair, T>) {
      fill(value.first, mix64(at + 1));
      fill(value.second, mix64(at + 2));
    } else {
      std::uint64_t number = 0;
      std::apply([&](auto&... field) { (fill(field, hash_combine(at, ++number)), ...); }, fields_of(value));
    }
  }

 private:
  template <class T>
  static T enumerator(std::uint64_t at) {
    if constexpr (requires { last_of(T{}); })
      return static_cast<T>(1 + at % std::max<std::uint64_t>(1, static_cast<std::uint64_t>(last_of(T{}))));
    return static_cast<T>(1);
  }
  template <class T>
  void list(std::vector<T>& values, std::uint64_t at) {
    if constexpr (kIs<std::variant, T>) {
      for (std::size_t i = 0; i < std::variant_size_v<T>; ++i) choose(values.emplace_back(), i, hash_combine(at, i));
    } else {
      values.resize(2);
      for (std::size_t i = 0; i < values.size(); ++i) fill(values[i], hash_combine(at, i));
    }
  }
  template <class T, std::size_t I = 0>
  void choose(T& value, std::size_t alternative, std::uint64_t at) {
    if constexpr (I < std::variant_size_v<T>) {
      if (I != alternative) return choose<T, I + 1>(value, alternative, at);
      fill(value.template emplace<I>(), at);
    }
  }

  std::size_t choice_, choices_ = 1;
};

/// A line "PLACE = VALUE" for every field, of whatever depth, that is neither zero nor empty. Fields that are added later are in no
/// message of before, and so in no text of one.
class Description {
 public:
  template <class T>
  static std::string of(const T& value) {
    Description made;
    made.add(value, "");
    return made.text_;
  }

 private:
  template <class T>
  void add(const T& value, const std::string& at) {
    if constexpr (std::is_enum_v<T>) {
      add(static_cast<std::underlying_type_t<T>>(value), at);
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (value != T{}) line(at, fmt::format("{}", value));
    } else if constexpr (kIsId<T>) {
      add(value.value(), at);
    } else if constexpr (std::is_same_v<T, Duration>) {
      add(value.count(), at);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.empty()) line(at, escaped(value));
    } else if constexpr (std::is_same_v<T, Buffer>) {
      add(std::string(as_chars(value.view())), at);
    } else if constexpr (std::is_same_v<T, SharedBytes>) {
      add(std::string(as_chars(value.bytes)), at);
    } else if constexpr (kIs<std::optional, T>) {
      if (value) line(at, "is set");
      if (value) add(*value, at);
    } else if constexpr (kIsSharedList<T>) {
      add(*value, at);
    } else if constexpr (kIs<std::map, T>) {
      for (const auto& [key, mapped] : value) add(mapped, at + "[" + key + "]");
    } else if constexpr (kIs<std::vector, T>) {
      if (!value.empty()) line(at, fmt::format("{} elements", value.size()));
      for (std::size_t i = 0; i < value.size(); ++i) add(value[i], fmt::format("{}[{}]", at, i));
    } else if constexpr (kIs<std::variant, T>) {
      line(at, fmt::format("of kind {}", value.index()));
      std::visit([&](const auto& chosen) { add(chosen, at); }, value);
    } else if constexpr (kIs<std::pair, T>) {
      add(value.first, at + ".first");
      add(value.second, at + ".second");
    } else {
      std::size_t number = 0;
      std::apply([&](const auto&... field) { (add(field, fmt::format("{}.{}", at, number++)), ...); }, fields_of(value));
    }
  }
  void line(const std::string& at, const std::string& value) { text_ += fmt::format("  {} = {}\n", at, value); }

  std::string text_;
};

}  // namespace weft::releases
