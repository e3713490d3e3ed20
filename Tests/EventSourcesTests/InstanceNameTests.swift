import LinuxSystem
import ProgramKit
import Testing

@testable import EventSources

@Suite("Names of an instance", .ownThread) struct InstanceNameTests {
    /// The vectors of the reference implementation: key 00…0F, messages of 0 to 15 bytes 00, 01, ….
    @Test func theHashIsSipHash() {
        let key = (0..<16).map { UInt8($0) }
        #expect(SipHash.hash([], key: key) == 0x726f_db47_dd0e_0e31)
        #expect(SipHash.hash([0], key: key) == 0x74f8_39c5_93dc_67fd)
        #expect(SipHash.hash((0..<8).map { UInt8($0) }, key: key) == 0x93f5_f579_9a93_2462)
        #expect(SipHash.hash((0..<15).map { UInt8($0) }, key: key) == 0xa129_ca61_49be_45e5)
    }

    @Test func eachUserHasOneOfItsOwn() {
        let name = InstanceName(folder: "/state", secret: Array(repeating: 7, count: 16))
        #expect(name.own == "/state:07070707070707070707070707070707")
        #expect(name.of(user: Linux.effectiveUserID) == name.own)
        let others = [70_001, 70_002].map { name.of(user: $0) }
        #expect(Set(others + [name.own]).count == 3)
        #expect(others.allSatisfy { $0.wholeMatch(of: /\/state:[0-9a-f]{32}/) != nil })
        #expect(name.of(user: 70_001) == others[0], "it is the same at the next start")
        #expect(InstanceName.none.of(user: 70_001).isEmpty)
    }
}
