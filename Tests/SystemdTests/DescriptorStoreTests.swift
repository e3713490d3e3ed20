import Glibc
import LinuxSystem
import ProgramKit
import Testing

@testable import Systemd

@Suite("Descriptor store", .ownThreadChain) struct DescriptorStoreTests {
    @Test func namesAreThoseOfTheManager() {
        for name in ["inotify", "pidfd-1-2-3", "a b", String(repeating: "x", count: 255)] {
            #expect(DescriptorStore.isName(name), "\(name)")
        }
        for name in ["", "a:b", "a\nb", "ä", "\u{7F}", String(repeating: "x", count: 256)] {
            #expect(!DescriptorStore.isName(name), "\(name)")
        }
    }

    @Test func descriptorsAreSentInAsManyDatagramsAsItTakes() async {
        await #expect(processExitsWith: .success) {
            let name = "watchd-test-store-\(Linux.processID)"
            let manager = Endpoint.abstract(name.pathBytes)
            let socket = try Linux.socket(for: manager, .datagram).release()
            try Linux.bind(socket, manager)
            setenv("NOTIFY_SOCKET", "@" + name, 1)
            let file = try Linux.open("/dev/null").release()
            precondition(DescriptorStore.put("a", Array(repeating: file, count: 300), polls: true) == .sent)
            precondition(DescriptorStore.put("b", [file], polls: false) == .sent)
            precondition(DescriptorStore.put("c", [], polls: false) == .sent)
            precondition(DescriptorStore.remove("a") == .sent)
            var texts: [String] = []
            while let datagram = try Linux.receiveDatagram(socket, limit: 4096) {
                texts.append(String(decoding: datagram.bytes, as: UTF8.self))
            }
            let put = "FDSTORE=1\nFDNAME=a"
            precondition(texts == [put, put, "FDSTORE=1\nFDNAME=b\nFDPOLL=0", "FDSTOREREMOVE=1\nFDNAME=a"], "\(texts)")
            // It stays the caller's.
            let kind = try Linux.fstat(file).kind
            precondition(kind == .characterDevice)
            unsetenv("NOTIFY_SOCKET")
            precondition(DescriptorStore.put("a", [file], polls: false) == .notAsked)
            FileDescriptor(owning: file).close()
            FileDescriptor(owning: socket).close()
        }
    }
}
