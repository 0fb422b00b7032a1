// Memory for large tables: zeroed, in huge pages where the kernel has them (fewer page faults, fewer TLB misses).
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <sys/mman.h>

namespace limits {

/// An array of plain values that are valid as all zeros. Owns its pages; moves, does not copy.
template <class T>
class HugeArray {
 public:
  HugeArray() = default;
  explicit HugeArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* pages = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
      std::perror("mmap");
      std::exit(1);
    }
    ::madvise(pages, bytes(), MADV_HUGEPAGE);
    data_ = static_cast<T*>(pages);
  }
  ~HugeArray() {
    if (data_ != nullptr) ::munmap(data_, bytes());
  }
  HugeArray(HugeArray&& other) noexcept { swap(other); }
  HugeArray& operator=(HugeArray&& other) noexcept {
    swap(other);
    return *this;
  }

  T* data() const { return data_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }

 private:
  std::size_t bytes() const { return size_ * sizeof(T); }
  void swap(HugeArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace limits
