//! Asks the readiness probes concurrently with other work of the server.

use std::time::Instant;

use tokio::sync::oneshot;

use super::super::readiness::{Chosen, ask};
use super::super::{Canary, Certainty, Document};
use super::{LONGEST_PAUSE, Life};

/// A step of the readiness probes that has ended.
pub(super) enum ProbeOutcome {
    Chosen(Chosen),
    Answered(Canary),
}

impl Life<'_> {
    /// Chooses the probes in a separate task. Certain uses may have changed: they are chosen again when their files change.
    pub(super) fn start_probe(&mut self) {
        let known = std::mem::take(&mut self.probes);
        let start = &self.actor.start;
        let (choose, root, family) = (start.choose_probes, start.root.clone(), start.profile.family.clone());
        let choosing = tokio::task::spawn_blocking(move || {
            let mut documents = known.iter().flat_map(|probe| &probe.documents);
            let is_known = !known.is_empty() && documents.all(Document::is_on_disk);
            if is_known { Chosen { probes: known, any: None } } else { choose(&root, &family) }
        });
        self.probe(async move { choosing.await.ok().map(ProbeOutcome::Chosen) });
    }

    /// Runs a step. Its result is dropped if the server starts to load again.
    fn probe(&mut self, step: impl Future<Output = Option<ProbeOutcome>> + Send + 'static) {
        let (reply, probing) = oneshot::channel();
        self.probing = Some(probing);
        tokio::spawn(async move { reply.send(step.await) });
    }

    /// Asks the chosen probes, or publishes their result.
    pub(super) async fn finish_probe(&mut self, outcome: Option<ProbeOutcome>) {
        self.probing = None;
        match outcome {
            None => self.probe_later(),
            Some(ProbeOutcome::Answered(canary)) => {
                if matches!(canary, Canary::Lacks(_)) {
                    self.probe_later();
                }
                self.canary = Some(canary);
            }
            Some(ProbeOutcome::Chosen(Chosen { probes, any })) if probes.is_empty() => {
                if let Some(any) = any.filter(|_| self.announces && !self.signals.has_begun()) {
                    self.open_documents(&[any]).await;
                }
                self.settled = Certainty::new(false);
                self.canary = Some(Canary::None);
            }
            Some(ProbeOutcome::Chosen(Chosen { probes, .. })) => {
                self.probes = probes.clone();
                let documents: Vec<Document> = probes.iter().flat_map(|probe| probe.documents.clone()).collect();
                if documents.iter().all(Document::is_on_disk) {
                    self.open_documents(&documents).await;
                    let (client, encoding) = (self.client.clone(), self.encoding);
                    let within = self.actor.start.timing.request;
                    return self.probe(async move {
                        Some(ProbeOutcome::Answered(ask(&client, encoding, &probes, within).await))
                    });
                }
                // A question may have opened newer texts.
                self.probe_later();
            }
        }
        self.publish_state();
    }

    /// Runs here rather than in a task, because the next question sends the same documents. If the server has ended, that is
    /// noticed elsewhere.
    async fn open_documents(&mut self, documents: &[Document]) {
        for (method, params) in self.documents.open_notifications(documents) {
            let _ = self.send_notification(method, params).await;
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
