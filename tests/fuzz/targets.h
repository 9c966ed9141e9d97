#pragma once

#include <string_view>

namespace vitrine::fuzz {

// What reads bytes of strangers. Each takes a whole input; what it finds wrong in it throws an
// `Error`, and any other exception, a crash, a hang or a large allocation is a defect.

void safetensors(std::string_view bytes);
void npy(std::string_view bytes);
void pth(std::string_view bytes);
void tfjs(std::string_view bytes);
void image(std::string_view bytes);
void recipe(std::string_view bytes);
void sweep(std::string_view bytes);
void cifar(std::string_view bytes);
void archive(std::string_view bytes);
void http(std::string_view bytes);
void tensor_json(std::string_view bytes);

}  // namespace vitrine::fuzz
