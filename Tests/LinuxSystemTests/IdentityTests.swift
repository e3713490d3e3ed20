import Glibc
import LinuxSystem
import ProgramKit
import Testing

@Suite("Identity") struct IdentityTests {
    @Test func groupsAreFoundByName() throws {
        #expect(try Linux.groupID(named: "root") == 0)
        #expect(try Linux.groupID(named: "no-such-group-here") == nil)
    }

    @Test(.ownThreadChain) func theEnvironmentIsReadByteForByte() async {
        await #expect(processExitsWith: .success) {
            setenv("WATCHD_TEST", "a=b", 1)
            precondition(Linux.environment("WATCHD_TEST") == Array("a=b".utf8))
            precondition(Linux.environment().contains(Array("WATCHD_TEST=a=b".utf8)))
            unsetenv("WATCHD_TEST")
            precondition(Linux.environment("WATCHD_TEST") == nil)
        }
    }

    @Test func theProcessorsAndLimitsAreCounted() throws {
        #expect(Linux.processorCount >= 1 && Linux.processorCount <= sysconf(Int32(_SC_NPROCESSORS_CONF)))
        let limit = try Linux.openFileLimit()
        #expect(limit.soft > 0 && limit.soft <= limit.hard)
    }

    @Test func whatIsNoTerminalHasNoSize() throws {
        try Linux.open("/dev/null").use { null throws in
            #expect(!Linux.isTerminal(null))
            #expect(Linux.windowSize(null) == nil)
        }
    }
}
