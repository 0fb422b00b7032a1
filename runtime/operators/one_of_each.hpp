// One element of each of several types, found by its type: what std::tuple, std::get and std::apply do, in a small part of the
// compiler's time. A job program has such elements for every operator that keeps a table.
#pragma once

namespace weft::runtime {

template <class Element>
struct HeldElement {
  Element element;
};

template <class... Element>
class OneOfEach : private HeldElement<Element>... {
 public:
  OneOfEach() : HeldElement<Element>()... {}
  /// Each is made of `from`.
  template <class From>
  explicit OneOfEach(const From& from) : HeldElement<Element>{Element(from)}... {}

  template <class Wanted>
  Wanted& get() {
    return static_cast<HeldElement<Wanted>&>(*this).element;
  }
  /// In the order of the types.
  template <class Visit>
  void for_each(Visit&& visit) {
    (visit(static_cast<HeldElement<Element>&>(*this).element), ...);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    (visit(static_cast<const HeldElement<Element>&>(*this).element), ...);
  }
};

}  // namespace weft::runtime
