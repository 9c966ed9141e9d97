#include "vitrine/formats/safetensors_header.h"

#include "tests/fuzz/must.h"
#include "tests/fuzz/targets.h"

namespace vitrine::fuzz {

void safetensors(std::string_view bytes) {
  const auto length =
      safetensors_header_length(bytes.substr(0, kLengthBytes), bytes.size(), "input");
  const auto begin = kLengthBytes + length;
  auto header = parse_safetensors_header(bytes.substr(0, begin), bytes.size(), "input");
  for (const auto& tensor : header.tensors)
    must(tensor.begin <= tensor.end && begin + tensor.end <= bytes.size(), "a tensor lies outside");
  must(header.checksum.empty() || header.checksum_at + kChecksumDigits <= begin,
       "the checksum lies outside");
  // What was read can be written and read again as the same.
  lay_out_safetensors(header, "output");
  const auto tensors = header.tensors.size();
  const auto written = write_safetensors_header(header, "output");
  const auto data = header.tensors.empty() ? 0 : header.tensors.back().end;
  must(parse_safetensors_header(written, written.size() + data, "output").tensors.size() == tensors,
       "what was written reads differently");
}

}  // namespace vitrine::fuzz
