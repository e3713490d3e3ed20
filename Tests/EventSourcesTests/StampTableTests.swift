import ProgramKit
import SeedKit
import Testing

@testable import EventSources

@Suite("Table of stamps", .ownThread) struct StampTableTests {
    private func stamp(_ number: UInt64) -> FolderSnapshot.Stamp {
        var stamp = FolderSnapshot.Stamp(
            inode: number, size: Int64(number) * 3, modified: -Int64(number), changed: Int64(number) << 40,
            isFolder: number & 1 != 0)
        (stamp.permissions, stamp.userID, stamp.groupID) = (.max, UInt32(number), UInt32(number) + 1)
        (stamp.links, stamp.isRegular) = (number & 7, number & 2 != 0)
        (stamp.isRecovered, stamp.areAttributesRecovered) = (number & 4 != 0, number & 8 != 0)
        (stamp.isOpen, stamp.isFresh) = (number & 16 != 0, number & 32 != 0)
        return stamp
    }

    @Test func aFileTakesAHundredBytes() {
        var table = StampTable()
        let count = LongPart.count(20_000, long: 1_000_000)
        for number in 0..<count { table[Array("file-\(number).text".utf8)] = stamp(UInt64(number)) }
        #expect(table.room / count <= 100, "\(table.room / count) bytes each")
        // Room that is not needed any more is used again.
        let room = table.room
        for number in 0..<(4 * count) {
            table[Array("file-\(number).text".utf8)] = nil
            table[Array("file-\(number + count).text".utf8)] = stamp(UInt64(number))
        }
        #expect(table.count == count && table.room < 2 * room)
    }

    /// Beside a dictionary.
    @Test(arguments: Seeds.range(20, long: 500)) func itIsTheDictionaryThatItsChangesMake(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (table, model) = (StampTable(), [[UInt8]: FolderSnapshot.Stamp]())
        for number in 1...2000 {
            let name = [UInt8](repeating: UInt8(random.upTo(40)), count: random.upTo(3))
            switch random.upTo(3) {
            case 0: (table[name], model[name]) = (nil, nil)
            case 1:
                table[name]?.isOpen = true
                model[name]?.isOpen = true
            default: (table[name], model[name]) = (stamp(UInt64(number)), stamp(UInt64(number)))
            }
            #expect(table[name] == model[name] && table.count == model.count, "seed \(seed)")
        }
        #expect(Dictionary(uniqueKeysWithValues: table.map { ($0.name, $0.stamp) }) == model, "seed \(seed)")
        #expect(table == table.filter { _, _ in true } && (model.isEmpty || table != StampTable()), "seed \(seed)")
    }
}
