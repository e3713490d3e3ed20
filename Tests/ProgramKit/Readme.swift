import LinuxSystem

/// README: its sections, and the indented blocks in them.
package struct Readme: Sendable {
    package let text: String
    private let blocks: [String: [[String]]]

    /// `root`: the folder of the package.
    package init(root: String) throws {
        text = String(decoding: try Linux.readFile("\(root)/README.md"), as: UTF8.self)
        var (section, blocks): (String, [String: [[String]]]) = ("", [:])
        var isOpen = false
        var blanks = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("    "), var last = isOpen ? blocks[section]?.popLast() : [] {
                last += Array(repeating: "", count: blanks) + [String(line.dropFirst(4))]
                blocks[section, default: []].append(last)
                (isOpen, blanks) = (true, 0)
            } else if line.isEmpty {
                blanks += isOpen ? 1 : 0
            } else {
                (isOpen, blanks) = (false, 0)
                if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            }
        }
        self.blocks = blocks
    }

    /// How many blocks each section with one has.
    package var counts: [String: Int] { blocks.mapValues(\.count) }

    /// A block of a section, counted from 0.
    package func block(_ section: String, _ index: Int = 0) throws -> [String] {
        guard let found = blocks[section], found.indices.contains(index) else {
            throw Missing(description: "README has no block \(index) in “\(section)”")
        }
        return found[index]
    }

    package struct Missing: Error, CustomStringConvertible {
        package var description: String
    }
}
