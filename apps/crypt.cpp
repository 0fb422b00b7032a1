// Encrypts files with AES-128, each block of sixteen bytes by itself: much data and much processor. (Equal blocks stay equal, so
// this is a measure of machines, not for secrets.)
//
//   crypt --input plain --output secret --key 000102030405060708090a0b0c0d0e0f
//
// Tasks that hold a device (weft worker --devices) encrypt by the kernel below. Others on nodes with the attribute "accelerator"
// use the processor's AES instructions, where it has them.
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <weft/kernel.hpp>
#include <weft/weft.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr std::size_t kBlock = 16, kRounds = 10;
using Block = std::array<std::uint8_t, kBlock>;
using Keys = std::array<Block, kRounds + 1>;  // of the rounds
using Table = std::array<std::uint8_t, 256>;

constexpr std::uint8_t twice(std::uint8_t x) { return static_cast<std::uint8_t>((x << 1) ^ ((x & 0x80) != 0 ? 0x1b : 0)); }

/// The substitution of bytes (FIPS 197, 5.1.1): the inverse in GF(2^8), found by going through the powers of 3 and of 1/3, then an
/// affine map.
constexpr Table make_substitution() {
  Table table{};
  std::uint8_t power = 1, inverse = 1;
  do {
    power = static_cast<std::uint8_t>(power ^ twice(power));
    for (const int shift : {1, 2, 4}) inverse = static_cast<std::uint8_t>(inverse ^ (inverse << shift));
    if ((inverse & 0x80) != 0) inverse ^= 0x09;
    unsigned image = inverse;
    for (const int turn : {1, 2, 3, 4}) image ^= static_cast<unsigned>((inverse << turn) | (inverse >> (8 - turn)));
    table[power] = static_cast<std::uint8_t>(image ^ 0x63);
  } while (power != 1);
  table[0] = 0x63;
  return table;
}
constexpr Table kSubstitution = make_substitution();

/// FIPS 197, 5.2.
Keys expanded(const Block& key) {
  Keys keys{key};
  std::uint8_t constant = 1;
  for (std::size_t round = 1; round <= kRounds; ++round, constant = twice(constant)) {
    const Block& before = keys[round - 1];
    Block& next = keys[round];
    for (std::size_t i = 0; i < 4; ++i) next[i] = before[i] ^ kSubstitution[before[12 + (i + 1) % 4]];
    next[0] ^= constant;
    for (std::size_t i = 4; i < kBlock; ++i) next[i] = before[i] ^ next[i - 4];
  }
  return keys;
}

/// FIPS 197, 5.1, a byte at a time.
void encrypt_block(const Keys& keys, std::uint8_t* bytes) {
  Block state, moved;
  for (std::size_t i = 0; i < kBlock; ++i) state[i] = bytes[i] ^ keys[0][i];
  for (std::size_t round = 1; round <= kRounds; ++round) {
    for (std::size_t i = 0; i < kBlock; ++i) moved[i] = kSubstitution[state[(i + 4 * (i % 4)) % kBlock]];
    for (std::size_t column = 0; column < kBlock; column += 4) {
      const std::uint8_t* in = &moved[column];
      const std::uint8_t sum = in[0] ^ in[1] ^ in[2] ^ in[3];
      for (std::size_t i = 0; i < 4; ++i) {
        const std::uint8_t mixed = round == kRounds ? in[i] : in[i] ^ sum ^ twice(in[i] ^ in[(i + 1) % 4]);
        state[column + i] = mixed ^ keys[round][column + i];
      }
    }
  }
  std::memcpy(bytes, state.data(), kBlock);
}

void encrypt(const Keys& keys, std::string& record) {
  for (std::size_t at = 0; at < record.size(); at += kBlock) encrypt_block(keys, reinterpret_cast<std::uint8_t*>(&record[at]));
}

#if defined(__x86_64__)
[[gnu::target("aes,sse2")]] void encrypt_by_instructions(const Keys& keys, std::string& record) {
  __m128i wide[kRounds + 1];
  std::memcpy(wide, keys.data(), sizeof wide);
  for (std::size_t at = 0; at < record.size(); at += kBlock) {
    auto* const place = reinterpret_cast<__m128i*>(&record[at]);
    __m128i state = _mm_xor_si128(_mm_loadu_si128(place), wide[0]);
    for (std::size_t round = 1; round < kRounds; ++round) state = _mm_aesenc_si128(state, wide[round]);
    _mm_storeu_si128(place, _mm_aesenclast_si128(state, wide[kRounds]));
  }
}
#endif

void encrypt_accelerated(const Keys& keys, std::string& record) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("aes")) return encrypt_by_instructions(keys, record);
#endif
  encrypt(keys, record);
}

/// A work group encrypts a record, whose items take its blocks in turn, by encrypt_block() above. A block is a vector, because
/// LLVM 15 (POCL 3.1) reads other elements than an array's index says when it vectorizes a loop over state[5 * i % 16].
weft::Kernel kernel(const Keys& keys) {
  std::vector<std::uint8_t> rounds;
  for (const Block& key : keys) rounds.insert(rounds.end(), key.begin(), key.end());
  return weft::Kernel("encrypt", R"(
uchar16 substituted(uchar16 in, local const uchar* box) {
  return (uchar16)(box[in.s0], box[in.s1], box[in.s2], box[in.s3], box[in.s4], box[in.s5], box[in.s6], box[in.s7],
                   box[in.s8], box[in.s9], box[in.sa], box[in.sb], box[in.sc], box[in.sd], box[in.se], box[in.sf]);
}

kernel void encrypt(global const uchar* in, global const uint* starts, global uchar* out, uint records, global const uchar* keys,
                    global const uchar* substitution) {
  local uchar key[176], box[256];
  for (uint i = get_local_id(0); i < 176; i += get_local_size(0)) key[i] = keys[i];
  for (uint i = get_local_id(0); i < 256; i += get_local_size(0)) box[i] = substitution[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint first = starts[get_group_id(0)], end = starts[get_group_id(0) + 1];
  for (uint at = first + 16 * get_local_id(0); at < end; at += 16 * get_local_size(0)) {
    uchar16 state = vload16(0, in + at) ^ vload16(0, key);
    for (uint round = 1; round <= 10; ++round) {
      const uchar16 moved = substituted(state, box).s05af49e38d27c16b;
      const uchar16 pair = moved ^ moved.s123056749ab8defc;  // of a byte and the next one of its column
      const uchar16 twice = (pair << (uchar)1) ^ (pair >> (uchar)7) * (uchar)0x1b;
      const uchar16 sum = pair ^ pair.s23016745ab89efcd;  // of the column
      state = (round == 10 ? moved : moved ^ sum ^ twice) ^ vload16(round, key);
    }
    vstore16(state, 0, out + at);
  }
}
)")
      .group(64)
      .with(rounds)
      .with(std::vector<std::uint8_t>(kSubstitution.begin(), kSubstitution.end()));
}

Keys keys_of(const std::string& digits) {
  if (digits.size() != 2 * kBlock || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    throw std::invalid_argument("--key is 32 hexadecimal digits");
  Block key;
  for (std::size_t i = 0; i < kBlock; ++i) key[i] = static_cast<std::uint8_t>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
  return expanded(key);
}

struct Options : weft::InputOutput {
  std::string key;
  std::uint64_t record_bytes = 4096;
};

void declare(weft::Arguments& arguments, Options& options) {
  weft::declare(arguments, options);
  arguments.option("--key", options.key, "32 hexadecimal digits").required();
  arguments.option("--record-bytes", options.record_bytes, "Bytes that are read at a time, of which files have a multiple")
      .between(16, 1 << 20)
      .show_default();
}

void define(weft::Flow& flow, const Options& options) {
  if (options.record_bytes % kBlock != 0) throw std::invalid_argument("--record-bytes must be a multiple of 16");
  const Keys keys = keys_of(options.key);
  flow.read_records(options.input, options.record_bytes)
      .map([keys](std::string_view record) {
        std::string secret(record);
        encrypt(keys, secret);
        return secret;
      })
      .on("accelerator",
          [keys](std::string_view record) {
            std::string secret(record);
            encrypt_accelerated(keys, secret);
            return secret;
          })
      .on(kernel(keys))
      .write_records(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Encrypts files with AES-128", declare, define); }
