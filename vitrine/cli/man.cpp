#include <algorithm>
#include <memory>

#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/cli/reference/man_page.h"
#include "vitrine/core/error.h"
#include "vitrine/core/files.h"

namespace vitrine::cli {
namespace {

struct ManOptions {
  std::string command, out;
};

const CommandReference& asked_command(const CommandReference& program, const std::string& word) {
  if (word.empty()) return program;
  std::vector<std::string> known;
  for (const auto& command : program.commands) {
    if (command.word() == word) return command;
    known.push_back(command.word());
  }
  fail_usage("man: '{}' is not a command of vitrine{} (known: {})", word, did_you_mean(word, known),
             fmt::join(known, ", "));
}

int run_man(const ManOptions& o, const CommandReference& program, Streams streams) {
  if (o.out.empty()) {
    streams.out << man_page(asked_command(program, o.command), program);
    return 0;
  }
  const auto write = [&](const CommandReference& command) {
    const auto path = fs::path(o.out) / (man_page_name(command) + ".1");
    write_file_atomically(path, man_page(command, program));
    streams.out << path.string() << '\n';
  };
  fs::create_directories(o.out);
  write(program);
  std::for_each(program.commands.begin(), program.commands.end(), write);
  return 0;
}

}  // namespace

Command man_command() {
  return {"man", "print the man page of the program or of a command", [](CLI::App& app) {
            const auto o = std::make_shared<ManOptions>();
            auto* command =
                app.add_option("command", o->command, "the command; default: the program's page")
                    ->type_name("COMMAND");
            app.add_option("--out", o->out, "write the pages of all commands to this folder")
                ->type_name("FOLDER")
                ->excludes(command);
            app.footer("vitrine man train | man -l -");
            return [o, &app](Streams s) { return run_man(*o, reference_of(*app.get_parent()), s); };
          }};
}

}  // namespace vitrine::cli
