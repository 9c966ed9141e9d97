#include "vitrine/formats/pickle.h"

#include <bit>

#include "vitrine/formats/pickle_machine.h"

static_assert(std::endian::native == std::endian::little, "pickles are little-endian");

namespace vitrine {
namespace {

using Kind = PickleValue::Kind;

constexpr int kLatestProtocol = 5;

/// Whether the opcode is one that pushes a number, a text or nothing of interest; if so, it has.
bool push_value(unsigned char opcode, PickleMachine& m) {
  switch (opcode) {
    case 'N':
      m.push(Kind::Plain);
      return true;
    case 0x88:
    case 0x89:
      m.push(Kind::Whole, opcode == 0x88);
      return true;
    case 'K':
      m.push(Kind::Whole, m.number<uint8_t>());
      return true;
    case 'M':
      m.push(Kind::Whole, m.number<uint16_t>());
      return true;
    case 'J':
      m.push(Kind::Whole, m.number<int32_t>());
      return true;
    case 'I':
    case 'L':
      m.push(Kind::Whole, m.whole_line());
      return true;
    case 0x8a:
      m.push_long(m.take(m.number<uint8_t>()));
      return true;
    case 0x8b:
      m.push_long(m.take(m.number<uint32_t>()));
      return true;
    case 'G':
      m.take(sizeof(double));
      m.push(Kind::Plain);
      return true;
    case 'F':
      m.line();
      m.push(Kind::Plain);
      return true;
    case 'U':
    case 0x8c:
      m.push_text(m.take(m.number<uint8_t>()));
      return true;
    case 'T':
    case 'X':
      m.push_text(m.take(m.number<uint32_t>()));
      return true;
    case 0x8d:
      m.push_text(m.take(m.number<uint64_t>()));
      return true;
    case 'V':
      m.push_text(m.line());
      return true;
    case 'S': {
      const auto text = m.line();
      if (text.size() < 2 || text.front() != text.back()) m.refuse("a text has no quotes");
      m.push_text(text.substr(1, text.size() - 2));
      return true;
    }
    case 'C':
      m.take(m.number<uint8_t>());
      m.push(Kind::Plain);
      return true;
    case 'B':
      m.take(m.number<uint32_t>());
      m.push(Kind::Plain);
      return true;
    case 0x8e:
    case 0x96:
      m.take(m.number<uint64_t>());
      m.push(Kind::Plain);
      return true;
    default:
      return false;
  }
}

/// The same for opcodes of stack and memo.
bool move_value(unsigned char opcode, PickleMachine& m) {
  switch (opcode) {
    case '(':
      m.push(Kind::Mark);
      return true;
    case '0':
      m.pop();
      return true;
    case '1':
      m.pop_to_mark();
      return true;
    case '2':
      m.push(PickleValue(m.top()));
      return true;
    case 'q':
      m.remember(m.number<uint8_t>());
      return true;
    case 'r':
      m.remember(m.number<uint32_t>());
      return true;
    case 'p':
      m.remember(static_cast<uint64_t>(m.whole_line()));
      return true;
    case 0x94:
      m.remember_next();
      return true;
    case 'h':
      m.recall(m.number<uint8_t>());
      return true;
    case 'j':
      m.recall(m.number<uint32_t>());
      return true;
    case 'g':
      m.recall(static_cast<uint64_t>(m.whole_line()));
      return true;
    default:
      return false;
  }
}

/// The same for opcodes of containers.
bool fill_container(unsigned char opcode, PickleMachine& m) {
  switch (opcode) {
    case ')':
    case ']':
    case 0x8f:
      m.push_sequence({});
      return true;
    case 't':
    case 'l':
    case 0x91:
      m.push_sequence(m.pop_to_mark());
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      m.push_popped(opcode - 0x84u);
      return true;
    case '}':
      m.push_dictionary({});
      return true;
    case 'd':
      m.push_dictionary(m.pop_to_mark());
      return true;
    case 'a': {
      const auto value = m.pop();
      m.append({value});
      return true;
    }
    case 'e':
    case 0x90:
      m.append(m.pop_to_mark());
      return true;
    case 's': {
      const auto value = m.pop(), key = m.pop();
      m.set_items({key, value});
      return true;
    }
    case 'u':
      m.set_items(m.pop_to_mark());
      return true;
    default:
      return false;
  }
}

/// The same for opcodes of names and calls.
bool call_name(unsigned char opcode, PickleMachine& m) {
  switch (opcode) {
    case 'c': {
      const auto module = m.line(), name = m.line();
      m.push_name(module, name);
      return true;
    }
    case 0x93: {
      const auto name = m.pop(), module = m.pop();
      if (name.kind != Kind::Text || module.kind != Kind::Text) m.refuse("a name is not a text");
      m.push_name(module.text, name.text);
      return true;
    }
    case 0x92:
      m.pop();  // named arguments
      [[fallthrough]];
    case 'R':
    case 0x81: {
      const auto arguments = m.pop(), callee = m.pop();
      m.call(callee, arguments);
      return true;
    }
    case 'i': {
      const auto module = m.line(), name = m.line();
      const auto arguments = m.pop_to_mark();
      m.push_name(module, name);
      m.call(m.pop(), arguments);
      return true;
    }
    case 'o': {
      auto arguments = m.pop_to_mark();
      if (arguments.empty()) m.refuse("it calls nothing");
      const auto callee = arguments.front();
      arguments.erase(arguments.begin());
      m.call(callee, arguments);
      return true;
    }
    case 'b':
      m.pop();  // attributes of the value below, none of which is asked for
      m.top();
      return true;
    case 'Q':
      m.push_storage(m.pop());
      return true;
    default:
      return false;
  }
}

}  // namespace

Pickle read_pickle(std::string_view bytes, uint64_t file_bytes, const std::string& where) {
  constexpr unsigned char kStop = '.', kProtocol = 0x80, kFrame = 0x95;
  PickleMachine m(bytes, file_bytes, where);
  for (;;) {
    const auto opcode = m.number<unsigned char>();
    if (opcode == kStop) return m.result();
    if (opcode == kProtocol) {
      const int protocol = m.number<uint8_t>();
      if (protocol > kLatestProtocol) m.refuse("protocol {} of pickle is not known", protocol);
    } else if (opcode == kFrame) {
      m.number<uint64_t>();  // it only helps to read ahead
    } else if (!push_value(opcode, m) && !move_value(opcode, m) && !fill_container(opcode, m) &&
               !call_name(opcode, m)) {
      m.refuse("instruction 0x{:02x} is not one of torch.save's", opcode);
    }
  }
}

}  // namespace vitrine
