import HostProcess
import Testing

/// A release that several operators are asked about is kept for the others: each of them must answer once.
struct ConfirmationTests {
    @Test(arguments: [false, true]) func anAnswerAfterASignalDoesNotCount(agrees: Bool) {
        let confirmation = HostProcess.Confirmation()
        #expect(confirmation.interrupt() == .refuses)
        #expect(!confirmation.answer(agrees))
        #expect(confirmation.interrupt() == .none)
    }

    @Test(arguments: [(true, .ends), (false, .none)] as [(Bool, HostProcess.Confirmation.Interruption)])
    func aSignalAfterAnAnswerIsNoOther(agrees: Bool, interruption: HostProcess.Confirmation.Interruption) {
        let confirmation = HostProcess.Confirmation()
        #expect(confirmation.answer(agrees))
        #expect(confirmation.interrupt() == interruption)
    }
}
