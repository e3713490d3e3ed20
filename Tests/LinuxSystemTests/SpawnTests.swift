import Glibc
import LinuxSystem
import ProgramKit
import Synchronization
import Testing

@Suite("Spawn", .ownThreadChain) struct SpawnTests {
    private let everyByte = (1...255).map { UInt8($0) }

    @Test func argumentsArriveByteForByte() throws {
        let arguments: [[UInt8]] = [everyByte, [], "-n".pathBytes, "a b\n'\"%".pathBytes]
        let child = try Child.run(["/usr/bin/printf".pathBytes, "%s\\0".pathBytes] + arguments)
        #expect(child.output == Array(arguments.map { $0 + [0] }.joined()))
        #expect(child.status == .exited(0))
    }

    @Test func environmentArrivesByteForByteAndNothingElse() throws {
        let environment = ["A=1".pathBytes, "B=".pathBytes + everyByte]
        let child = try Child.run(["/bin/cat", "/proc/self/environ"].map(\.pathBytes), environment: environment)
        #expect(child.output == Array(environment.map { $0 + [0] }.joined()))
    }

    @Test func aNULByteIsRefused() throws {
        let words = ["/bin/true".pathBytes]
        for change: (inout SpawnSpecification) -> Void in [
            { $0.path += [0] }, { $0.arguments += [[1, 0, 2]] }, { $0.environment += [[0]] }, { $0.folder = [0] },
            { $0.arguments = [] },
        ] {
            let error = #expect(throws: SpawnError.self) { try Child.run(words, change: change) }
            #expect(error?.step == .arguments)
            #expect(error?.errno == .invalidArgument)
        }
    }

    @Test func theChildHasOnlyTheDescriptorsItWasGiven() throws {
        let inherited = try Linux.open("/dev/null")
        try inherited.use { inherited throws in
            _ = fcntl(inherited, F_SETFD, 0)
            let child = try Child.shell("ls /proc/self/fd")
            #expect(child.text == "0\n1\n2\n3\n")  // 3 is the folder that ls reads
        }
    }

    @Test func descriptorsThatStandInEachOthersPlaceAreSorted() throws {
        try withTemporaryFolder { folder throws in
            try Linux.writeFile(folder + "/in", "from the file")
            let file = try Linux.open(folder + "/in")
            let pipe = try Linux.pipe()
            let output = pipe.writeEnd.rawValue
            // The child's 3, 4 and 5 are what stands at 2, 0 and 1 here.
            let process = try Linux.spawn(
                SpawnSpecification(
                    path: "/bin/sh".pathBytes,
                    arguments: ["sh", "-c", "cat >&1; readlink /proc/self/fd/3 /proc/self/fd/4"].map(\.pathBytes),
                    descriptors: [file.rawValue, output, output, 2, 0, 1]))
            file.close()
            pipe.writeEnd.close()
            let text = try pipe.readEnd.use { try Linux.readToEnd($0, limit: 10_000) }
            #expect(try process.pidfd.use { try Linux.waitUntilEnd($0) } == .exited(0))
            let expected =
                try "from the file".pathBytes + Linux.readlink("/proc/self/fd/2") + [10]
                + Linux.readlink("/proc/self/fd/0") + [10]
            #expect(text == expected)
        }
    }

    @Test func aClosedDescriptorIsAnErrorOfItsStep() throws {
        let error = #expect(throws: SpawnError.self) {
            try Child.run(["/bin/true".pathBytes]) { $0.descriptors[0] = -1 }
        }
        #expect(error?.step == .descriptors)
        #expect(error?.errno == .badDescriptor)
        #expect(
            throws: SpawnError(step: .descriptors, detail: "dup3", errno: .invalidArgument),
            performing: {
                try Child.run(["/bin/true".pathBytes]) { $0.descriptors = Array(repeating: 1, count: 17) }
            })
    }

    @Test func aMissingFolderIsAnErrorOfItsStep() throws {
        let error = #expect(throws: SpawnError.self) {
            try Child.run(["/bin/true".pathBytes]) { $0.folder = "/nowhere/at all".pathBytes }
        }
        #expect(error?.step == .folder)
        #expect(error?.description == "chdir /nowhere/at all: No such file or directory (ENOENT)")
    }

    @Test func whatCannotBeExecutedIsAnErrorOfItsStep() throws {
        try withTemporaryFolder { folder throws in
            try Linux.writeFile(folder + "/text", "no program")
            for (path, errno) in [
                (folder + "/none", Errno.noSuchFile), (folder + "/text", .accessDenied), (folder, .accessDenied),
            ] {
                let error = #expect(throws: SpawnError.self) { try Child.run([path.pathBytes]) }
                #expect(error == SpawnError(step: .execute, detail: "execve \(path)", errno: errno))
            }
            try Linux.chmod(folder + "/text", 0o755)
            let error = #expect(throws: SpawnError.self) { try Child.run([(folder + "/text").pathBytes]) }
            #expect(error?.errno == .badExecutable)
        }
    }

    @Test func argumentsBeyondTheKernelsLimitAreAnError() throws {
        let error = #expect(throws: SpawnError.self) {
            try Child.run(["/bin/true".pathBytes, [UInt8](repeating: 65, count: 1 << 20)])
        }
        #expect(error?.errno == .argumentsTooLong)
    }

    @Test func workingFolderMaskAndNiceAreSet() throws {
        let child = try Child.shell("pwd; umask; nice") {
            $0.folder = "/usr/bin".pathBytes
            $0.umask = 0o137
            $0.nice = Linux.nice + 3
        }
        #expect(child.text == "/usr/bin\n0137\n\(Linux.nice + 3)\n")
    }

    @Test func theIOPriorityIsSetAndOtherwiseInherited() throws {
        let own = try Child.shell("ionice").text
        #expect(try Child.shell("ionice") { $0.ioPriority = .bestEffort(6) }.text == "best-effort: prio 6\n")
        #expect(try Child.shell("ionice") { $0.ioPriority = .idle }.text == "idle\n")
        #expect(try Child.shell("ionice").text == own, "the parent's own is as it was")
    }

    @Test func anIOPriorityThatDoesNotExistIsAnErrorOfItsStep() {
        let error = #expect(throws: SpawnError.self) {
            try Child.run(["/bin/true".pathBytes]) { $0.ioPriority = IOPriority(rawValue: 7 << 13) }
        }
        #expect(error == SpawnError(step: .ioPriority, detail: "ioprio_set", errno: .invalidArgument))
    }

    @Test func aNiceValueThatThePrivilegesDoNotAllowIsNoReasonNotToRun() async {
        await #expect(processExitsWith: .success) {
            // Where it may not, it is without privileges already.
            _ = setuid(65534)
            let own = Linux.nice
            let child = try Child.shell("nice") { $0.nice = own - 1 }
            precondition(child.text == "\(own)\n", child.text)
        }
    }

    @Test func theMoreUrgentIOPriorityIsTheGreater() {
        #expect(IOPriority.idle < .bestEffort(7))
        #expect(IOPriority.bestEffort(7) < .bestEffort(6))
        #expect(IOPriority.bestEffort(0) < .none)
    }

    @Test func theChildLeadsAProcessGroupOfItsOwn() throws {
        let child = try Child.shell("cut -d' ' -f1,5 /proc/$$/stat")
        let fields = child.text.split(whereSeparator: \.isWhitespace)
        #expect(fields.count == 2 && fields.first == fields.last)
    }

    @Test func signalsAreAtTheirDefaultsWhateverTheParentDoes() async {
        await #expect(processExitsWith: .success) {
            Linux.ignoreSignal(SIGPIPE)
            Linux.ignoreSignal(SIGUSR2)
            signal(SIGUSR1) { _ in }
            Linux.blockSignals(.managed)
            let child = try Child.run(["/bin/cat", "/proc/self/status"].map(\.pathBytes))
            for field in ["SigBlk", "SigIgn", "SigCgt"] {
                precondition(child.text.contains("\(field):\t0000000000000000\n"), child.text)
            }
        }
    }

    @Test func signalsThatAreIgnoredAfterAProcessWasStartedAreAtTheirDefaultInTheNext() async {
        await #expect(processExitsWith: .success) {
            _ = try Child.run(["/bin/true"].map(\.pathBytes))
            Linux.ignoreSignal(SIGUSR2)
            Linux.ignoreSignal(64)
            let child = try Child.run(["/bin/cat", "/proc/self/status"].map(\.pathBytes))
            precondition(child.text.contains("SigIgn:\t0000000000000000\n"), child.text)
        }
    }

    @Test func manyThreadsSpawnAtOnce() {
        let good = Atomic(0)
        onThreads(20) { thread in
            for turn in 0..<10 {
                let code = (thread * 10 + turn) % 200
                let child = try? Child.shell("echo \(thread) \(turn); exit \(code)")
                if child?.text == "\(thread) \(turn)\n", child?.status == .exited(Int32(code)) {
                    good.add(1, ordering: .relaxed)
                }
            }
        }
        #expect(good.load(ordering: .relaxed) == 200)
    }

    @Test func withoutFreeDescriptorsASpawnFailsAndLaterOnesWork() async {
        await #expect(processExitsWith: .success) {
            let null = try Linux.open("/dev/null", .readingAndWriting)
            let specification = SpawnSpecification(
                path: "/bin/true".pathBytes, arguments: ["true".pathBytes],
                descriptors: [null.rawValue, null.rawValue, null.rawValue])
            let limit = try Linux.openFileLimit().soft
            try Linux.setOpenFileLimit(3)
            do throws(SpawnError) {
                let process = try Linux.spawn(specification)
                process.pidfd.close()
                preconditionFailure("there was no descriptor for the pidfd")
            } catch {
                precondition(error.step == .clone && error.errno == .descriptorsExhausted, "\(error)")
            }
            try Linux.setOpenFileLimit(limit)
            let process = try Linux.spawn(specification)
            let status = try process.pidfd.use { try Linux.waitUntilEnd($0) }
            precondition(status == .exited(0))
            null.close()
        }
    }

    @Test func aFailedSpawnLeavesNothingBehind() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<50 { _ = try? Child.run(["/nowhere".pathBytes]) }
            precondition(waitpid(-1, nil, WNOHANG) == -1, "a child is left")
            for entry in try Linux.readFolder("/proc/self/fd") {
                let target = try? Linux.readlink("/proc/self/fd/".pathBytes + entry.name)
                precondition(target?.printable.contains("pidfd") != true, "a pidfd is left")
            }
        }
    }
}
