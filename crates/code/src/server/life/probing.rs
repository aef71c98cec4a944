//! Asking a server what is known for certain, beside everything else that happens to it.

use std::time::Instant;

use tokio::sync::oneshot;

use super::super::canary::{Chosen, ask, choose};
use super::super::{Canary, Certainty, Document};
use super::{LONGEST_PAUSE, Life};

/// What became of the questions whose answers are known.
pub(super) struct ProbeOutcome {
    chosen: Chosen,
    canary: Canary,
}

impl Life<'_> {
    /// Asks what is known, in a task of its own.
    pub(super) fn start_probe(&mut self) {
        let (reply, probing) = oneshot::channel();
        self.probing = Some(probing);
        let known = std::mem::take(&mut self.probes);
        let (root, family) = (self.actor.start.root.clone(), self.actor.start.profile.family.clone());
        // What is certain may have changed: it is chosen again when its files are others.
        tokio::spawn(async move {
            let chosen = tokio::task::spawn_blocking(move || {
                let mut documents = known.iter().flat_map(|probe| &probe.documents);
                let is_known = !known.is_empty() && documents.all(Document::is_on_disk);
                if is_known { Chosen { probes: known, any: None } } else { choose(&root, &family) }
            });
            // Nobody waits any more if the server loads again.
            let _ = reply.send(chosen.await.ok().map(|chosen| ProbeOutcome { chosen, canary: Canary::None }));
        });
    }

    /// The questions are chosen, or answered.
    pub(super) async fn finish_probe(&mut self, outcome: Option<ProbeOutcome>) {
        self.probing = None;
        let Some(ProbeOutcome { chosen, canary }) = outcome else {
            self.probe_later();
            return self.look();
        };
        let is_chosen_only = canary == Canary::None && !chosen.probes.is_empty();
        self.probes = chosen.probes;
        if !is_chosen_only {
            if let Some(any) = chosen.any.filter(|_| self.announces && !self.signals.has_begun()) {
                self.bring(&[any]).await;
            }
            let agrees = !matches!(canary, Canary::Lacks(_));
            if canary == Canary::None {
                self.settled = Certainty::not_yet();
            }
            self.canary = Some(canary);
            if !agrees {
                self.probe_later();
            }
            return self.look();
        }
        let documents: Vec<Document> = self.probes.iter().flat_map(|probe| probe.documents.clone()).collect();
        if !documents.iter().all(Document::is_on_disk) {
            // A question may have brought what stands there now.
            self.probe_later();
            return self.look();
        }
        self.bring(&documents).await;
        let (client, encoding, probes) = (self.client.clone(), self.encoding, self.probes.clone());
        let within = self.actor.start.timing.request;
        let (reply, probing) = oneshot::channel();
        self.probing = Some(probing);
        tokio::spawn(async move {
            let canary = ask(&client, encoding, &probes, within).await;
            let _ = reply.send(Some(ProbeOutcome { chosen: Chosen { probes, any: None }, canary }));
        });
    }

    /// Here and not in a task: a question that comes next tells of the same documents. A server that is gone is seen by its end.
    async fn bring(&mut self, documents: &[Document]) {
        for (method, params) in self.documents.bring(documents) {
            let _ = self.tell(method, params).await;
        }
    }

    fn probe_later(&mut self) {
        self.probe_at = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    pub(super) fn probe_soon(&mut self) {
        if self.says_ready_since.is_some() && self.probing.is_none() {
            self.probe_at = Some(Instant::now());
        }
    }
}

pub(super) async fn probe_outcome(
    probing: &mut Option<oneshot::Receiver<Option<ProbeOutcome>>>,
) -> Option<ProbeOutcome> {
    match probing {
        Some(probing) => probing.await.ok().flatten(),
        None => std::future::pending().await,
    }
}
