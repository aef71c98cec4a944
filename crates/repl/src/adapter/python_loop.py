

class EventLoop:
    """The session's own asyncio and its event loop, once code has used `await` outside of functions."""

    def __init__(self, driver):
        self.driver = driver
        self.asyncio = self.loop = None

    def complete(self, coroutine):
        """Runs a coroutine to its end, and the tasks of earlier evaluations meanwhile."""
        hand = self.driver.hand
        if self.loop is None or self.loop.is_closed():
            self.asyncio = hand(builtins.__import__, "asyncio")
            self.loop = self.asyncio.new_event_loop()
        self.asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return hand(self.loop.run_until_complete, task)
        except KeyboardInterrupt:
            # The program may clean up when it is cancelled. A second interrupt ends that too.
            if task.cancel():
                hand(self.loop.run_until_complete, self.asyncio.wait([task]))
            raise

    def run_in_background(self):
        """Runs the unfinished tasks of the session until the next frame arrives."""
        if self.loop is None or self.loop.is_closed() or not self.asyncio.all_tasks(self.loop):
            return
        number = self.driver.frames.fileno()
        posix.set_blocking(number, False)
        try:
            has_frame = self.driver.frames.peek(1)
        finally:
            posix.set_blocking(number, True)
        if has_frame:
            return
        arrived = self.loop.create_future()
        try:
            self.loop.add_reader(number, lambda: arrived.done() or arrived.set_result(None))
            self.driver.hand(self.loop.run_until_complete, arrived)
        except Exception:
            # A task stopped the loop: reading waits instead.
            pass
        finally:
            self.loop.remove_reader(number)
            self.driver.put_aside()
