/// The mounts, as this process sees them (`proc_pid_mountinfo(5)`).
package struct MountTable {
    private static let slash = UInt8(ascii: "/")

    /// Later ones lie over earlier ones of the same place.
    private var mounts: [(place: [UInt8], number: Int)] = []
    /// Of each place, what lies there: numbers of mounts, devices, and the folders in them that are seen.
    private var layers: [[UInt8]: [[UInt8]]] = [:]

    /// As it is now. No file system is asked. Empty where it cannot be read.
    package static var current: MountTable {
        MountTable((try? Linux.readFile("/proc/self/mountinfo", limit: 64 << 20)) ?? [])
    }

    /// - Parameter text: of that file.
    package init(_ text: [UInt8]) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard words.count == 6, let number = Int(String(decoding: words[0], as: UTF8.self)) else { continue }
            let place = Self.unescaped(words[4])
            mounts.append((place, number))
            layers[place, default: []].append(Array(words[..<4].joined(separator: [UInt8(ascii: " ")])))
        }
    }

    /// The mount that an absolute path is on, if nothing on the way is a symbolic link; `nil`: not known. As long as
    /// something has it open, no other mount gets its number.
    package func mount(of path: [UInt8]) -> Int? {
        var found: (place: [UInt8], number: Int)?
        for mount in mounts where Self.isOn(path, mount.place) && mount.place.count >= found?.place.count ?? 0 {
            found = mount
        }
        return found?.number
    }

    /// Places where something lies over another file system, in no order.
    package var places: [[UInt8]] { layers.keys.filter { $0 != [Self.slash] } }

    /// Places where something else lies than before, in no order.
    package func changes(since other: MountTable) -> [[UInt8]] {
        Set(layers.keys).union(other.layers.keys).filter { layers[$0] != other.layers[$0] }
    }

    private static func isOn(_ path: [UInt8], _ place: [UInt8]) -> Bool {
        path.starts(with: place) && (path.count == place.count || place == [slash] || path[place.count] == slash)
    }

    /// `\040` is a space.
    private static func unescaped(_ word: ArraySlice<UInt8>) -> [UInt8] {
        var (result, index) = ([UInt8](), word.startIndex)
        while index < word.endIndex {
            let digits = word[index...].dropFirst().prefix(3)
            if word[index] == UInt8(ascii: "\\"), digits.count == 3,
                let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                result.append(code)
                index += 4
            } else {
                result.append(word[index])
                index += 1
            }
        }
        return result
    }
}
