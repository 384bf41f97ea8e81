// Positions in a list that cannot be confused with positions in another list: a FleetIndex converts
// neither to a TierIndex nor to a number. There is no arithmetic. `value()` gives the bare number
// where a file or a message needs it, and an IndexedVector accepts only its own index type.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <ranges>
#include <utility>
#include <vector>

namespace orrery {

template <class Tag>
class Index {
 public:
  constexpr Index() = default;
  constexpr explicit Index(std::size_t value) : value_(value) {}

  constexpr std::size_t value() const { return value_; }
  friend constexpr auto operator<=>(Index, Index) = default;

  // Advances to the next position, for loops.
  constexpr Index& operator++() {
    ++value_;
    return *this;
  }

 private:
  std::size_t value_ = 0;
};

// A vector whose elements are addressed by an index of its own type.
template <class I, class T>
class IndexedVector {
 public:
  IndexedVector() = default;
  explicit IndexedVector(std::size_t count, const T& value = T()) : items_(count, value) {}
  explicit IndexedVector(std::vector<T> items) : items_(std::move(items)) {}
  IndexedVector(std::initializer_list<T> items) : items_(items) {}

  decltype(auto) operator[](I at) { return items_[at.value()]; }
  decltype(auto) operator[](I at) const { return items_[at.value()]; }
  decltype(auto) at(I place) { return items_.at(place.value()); }
  decltype(auto) at(I place) const { return items_.at(place.value()); }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  bool has(I at) const { return at.value() < items_.size(); }

  // Adds an element and returns its index.
  I push_back(T item) {
    items_.push_back(std::move(item));
    return I(items_.size() - 1);
  }
  void resize(std::size_t count) { items_.resize(count); }
  void reserve(std::size_t count) { items_.reserve(count); }
  void clear() { items_.clear(); }

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  auto& front() { return items_.front(); }
  const auto& front() const { return items_.front(); }
  auto& back() { return items_.back(); }
  const auto& back() const { return items_.back(); }

  // Returns every index of the vector, in order.
  auto indices() const {
    return std::views::iota(std::size_t{0}, items_.size()) |
           std::views::transform([](std::size_t at) { return I(at); });
  }

  const std::vector<T>& items() const { return items_; }
  friend bool operator==(const IndexedVector&, const IndexedVector&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace orrery

template <class Tag>
struct std::hash<orrery::Index<Tag>> {
  std::size_t operator()(orrery::Index<Tag> index) const noexcept {
    return std::hash<std::size_t>()(index.value());
  }
};
