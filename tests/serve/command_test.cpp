#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "tests/support/command.h"
#include "tests/support/small_server.h"

namespace vitrine::serve {
namespace {

/// `vitrine serve` as a process of its own, whose stderr can be read.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments) {
    int ends[2];
    check(::pipe(ends) == 0, "no pipe");
    id_ = ::fork();
    if (id_ == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      std::vector<char*> all = {const_cast<char*>(VITRINE_PROGRAM), const_cast<char*>("serve")};
      for (const auto& argument : arguments) all.push_back(const_cast<char*>(argument.c_str()));
      all.push_back(nullptr);
      ::execv(VITRINE_PROGRAM, all.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    messages_ = ::fdopen(ends[0], "r");
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (id_ > 0) terminate();
    std::fclose(messages_);
  }

  /// Waits until it says its address, http://127.0.0.1:PORT/; 0 if it never does.
  int port() {
    const std::string address = "http://127.0.0.1:";
    char line[512] = "";
    while (std::fgets(line, sizeof line, messages_) != nullptr) {
      const std::string text = line;  // libraries may warn of the processor before
      if (const auto at = text.find(address); at != text.npos)
        return std::stoi(text.substr(at + address.size()));
    }
    return 0;
  }
  /// Asks it to stop and gives its exit code.
  int terminate() {
    ::kill(id_, SIGTERM);
    int status = 0;
    ::waitpid(std::exchange(id_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t id_;
  std::FILE* messages_ = nullptr;
};

}  // namespace

TEST(ServeCommand, ServesUntilItIsTerminated) {
  const test::TemporaryFolder folder;
  test::save_small_checkpoint(folder / "small.safetensors", "vit_c10_small", test::kSmallVit);
  Process process({"mine=" + (folder / "small.safetensors").string(), "--port", "0", "--quiet"});
  const auto port = process.port();
  ASSERT_NE(port, 0);
  auto client = test::patient_client(port);
  const auto answer = client.Post("/v1/classify?model=mine", test::noise_png(1), test::kPng);
  ASSERT_TRUE(answer) << httplib::to_string(answer.error());
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(process.terminate(), 0);
  EXPECT_FALSE(client.Get("/v2"));
}

TEST(ServeCommand, NamesWhatItCannotServe) {
  const test::TemporaryFolder folder;
  const auto path = (folder / "small.safetensors").string();
  test::save_small_checkpoint(path, "vit_c10_small", test::kSmallVit);
  const auto twice = test::run_command({"serve", path, path, "--port", "0"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.err.find("two models are called 'small'; write NAME="), std::string::npos)
      << twice.err;
  const auto missing = test::run_command({"serve", (folder / "none").string(), "--port", "0"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("none"), std::string::npos) << missing.err;
  EXPECT_EQ(test::run_command({"serve", "--max-batch", "0"}).code, 2);
  const test::SmallServer other;
  const auto taken = test::run_command({"serve", "--port", std::to_string(other.server->port())});
  EXPECT_EQ(taken.code, 1);
  EXPECT_NE(taken.err.find("cannot be bound"), std::string::npos) << taken.err;
}

}  // namespace vitrine::serve
